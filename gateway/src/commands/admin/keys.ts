/** `tollgate admin key …` and `host-token create`: creates, lists, changes, rotates and revokes keys and tokens. */

import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { formatProperties, formatTable } from "@tollgate/terminal/table-format.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { createErrorLog } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { startOfDay, startOfMonth } from "../../base/time.ts";
import { type Broadcast, sendBroadcast } from "../../db/broadcast.ts";
import { type ApiKeyRecord, type ApiKeys, createApiKeyService } from "../../keys/api-keys.ts";
import { hasPepperColumns } from "../../keys/peppers.ts";
import { openHostTokenService, type SecretStore, type SecretsOptions } from "../../keys/secret-store.ts";
import { computeEffectiveLimits, DEFAULT_KEY_LIMITS, findHighestOwnerLimits } from "../../limits/limits.ts";
import { openAccountDirectory } from "../../operators/account-directory.ts";
import { openAudit } from "../../operators/audit.ts";
import { loadServerSecrets } from "../../server-secrets.ts";
import { findAccount } from "./accounts.ts";
import {
  ACCOUNT_ARGUMENT,
  type AdminCommand,
  type AdminRun,
  COMMAND_LINE_ACTOR,
  NAME_ARGUMENT,
  parseNameArgument,
} from "./admin-run.ts";
import { formatAuditDetails, formatLimits, keyProperties, listKeyColumns, makeKeyRow } from "./key-output.ts";
import { checkOwnLimits, parseKeepOldSecretMs, parseKeySettings, SETTING_FLAGS } from "./key-settings.ts";

const PAGE_ROWS = 1000;

const KEY = { KEY: { help: "key ID: key_…" } };

export const keyCommands: Record<string, AdminCommand> = {
  "key list": {
    help: "list an account's API keys with their budgets, limits and this month's spend",
    args: ACCOUNT_ARGUMENT,
    more: ["A star marks a limit that differs from the platform's default."],
    example: "acc_01jc9v6w2e8t3k5m7q9r1s4x6z",
    run: list,
  },
  "key show": {
    help: "show an API key with its settings and spend",
    args: KEY,
    example: "key_01jc9v6w2e8t3k5m7q9r1s4x6z",
    run: show,
  },
  "key create": {
    help: "create an API key; it is shown once",
    args: { ...ACCOUNT_ARGUMENT, ...NAME_ARGUMENT },
    flags: SETTING_FLAGS,
    example: "acc_01jc9v6w2e8t3k5m7q9r1s4x6z production --budget-month 50 --expires 2027-01-31",
    run: create,
  },
  "key set": {
    help: "change an API key's name and settings; settings that you leave out stay the same",
    args: KEY,
    flags: { name: { value: "NAME", help: "1 to 200 characters" }, ...SETTING_FLAGS },
    more: ["To raise a key above the platform's limits, use tollgate admin key limits."],
    example: "key_01jc9v6w2e8t3k5m7q9r1s4x6z --budget-day 2.50 --models tiny-3b,small-8b",
    run: set,
  },
  "key rotate": {
    help: "give an API key a new secret; it is shown once",
    args: KEY,
    flags: { "keep-old": { value: "TIME", help: "how long the old secret still works: 0 (default), 90s, 1h, 7d" } },
    example: "key_01jc9v6w2e8t3k5m7q9r1s4x6z --keep-old 24h",
    run: rotate,
  },
  "key revoke": {
    help: "revoke an API key immediately",
    args: KEY,
    example: "key_01jc9v6w2e8t3k5m7q9r1s4x6z",
    run: revoke,
  },
  "key limits": {
    help: "set an API key's limits; limits that you leave out or set to \"default\" get the platform's defaults",
    args: KEY,
    flags: {
      "requests-per-minute": { value: "N", help: 'a whole number, or "default"' },
      "tokens-per-minute": { value: "N", help: 'a whole number, or "default"' },
      "in-flight": { value: "N", help: 'how many requests may be in flight at once: a whole number, or "default"' },
    },
    example: "key_01jc9v6w2e8t3k5m7q9r1s4x6z --requests-per-minute 60 --in-flight 4",
    run: limits,
  },
  "host-token create": {
    help: "create a host token; it is shown once",
    args: { ...ACCOUNT_ARGUMENT, ...NAME_ARGUMENT },
    example: "acc_01jc9v6w2e8t3k5m7q9r1s4x6z barn",
    run: createToken,
  },
};

async function list(run: AdminRun): Promise<number> {
  const { id } = await findAccount(run);
  return withSecrets(run, createApiKeyService, async (keys) => {
    const spend = await openAccountDirectory(run).spendByKey(id, startOfMonth(run.clock.now()));
    const all = await everySecret(keys, id);
    const records = all.map((record) => ({ record, spend: spend.get(record.id) }));
    if (run.json) run.print(JSON.stringify(records.map(makeKeyRow), null, 2));
    else
      run.print(
        records.length === 0
          ? "This account has no keys."
          : formatTable(listKeyColumns(run.clock.now()), records, run.terminal),
      );
  });
}

async function everySecret(secrets: ApiKeys, account: Uuid): Promise<ApiKeyRecord[]> {
  const all: ApiKeyRecord[] = [];
  for (;;) {
    const last = all.at(-1);
    const after = last && { id: last.id, revoked: last.revokedAt !== null };
    const rows = await secrets.list(account, { after, limit: PAGE_ROWS });
    all.push(...rows);
    if (rows.length < PAGE_ROWS) return all;
  }
}

async function show(run: AdminRun): Promise<number> {
  const id = keyId(run);
  return withSecrets(run, createApiKeyService, async (keys) => {
    const record = await keys.find(null, id);
    if (record === undefined) throw noKey();
    run.print(await told(run, record));
  });
}

async function told(run: AdminRun, record: ApiKeyRecord): Promise<string> {
  const [now, directory] = [run.clock.now(), openAccountDirectory(run)];
  const today = (await directory.spendByKey(record.accountId, startOfDay(now))).get(record.id);
  const spend = (await directory.spendByKey(record.accountId, startOfMonth(now))).get(record.id);
  return run.json
    ? JSON.stringify(makeKeyRow({ record, spend, today }), null, 2)
    : formatProperties(keyProperties(record, { today, spend, now }), run.terminal);
}

async function create(run: AdminRun): Promise<number> {
  const settings = await parseKeySettings(run, run.clock.now());
  checkOwnLimits(settings, findHighestOwnerLimits(null));
  return issue(
    run,
    "key",
    createApiKeyService,
    { name: parseNameArgument(run.args[1]), ...formatAuditDetails(settings) },
    (keys, account, name) => keys.create(account, { name, by: null, settings }),
  );
}

async function set(run: AdminRun): Promise<number> {
  const id = keyId(run);
  const settings = await parseKeySettings(run, run.clock.now());
  const name = run.flags.name === undefined ? {} : { name: parseNameArgument(run.flags.name) };
  const change = { ...name, ...settings };
  if (Object.keys(change).length === 0) throw new UsageError("name at least one setting to change");
  return withSecrets(run, createApiKeyService, async (keys) => {
    const found = await keys.find(null, id);
    if (found === undefined || found.revokedAt !== null) throw noKey();
    checkOwnLimits(settings, findHighestOwnerLimits(found.limits));
    const details = { ...name, ...formatAuditDetails(settings) };
    const act = { operator: COMMAND_LINE_ACTOR, action: "key.set", subject: publicId("key", id), details };
    await openAudit(run).record(act, async () => {
      if (!(await keys.change(found.accountId, id, change))) throw noKey();
    });
    run.print(await told(run, (await keys.find(null, id)) ?? found));
  });
}

async function rotate(run: AdminRun): Promise<number> {
  const [id, keepMs] = [keyId(run), parseKeepOldSecretMs(run.flags["keep-old"])];
  return withSecrets(run, createApiKeyService, async (keys) => {
    const found = await keys.find(null, id);
    const details = { keep_old_s: keepMs / 1000 };
    const act = { operator: COMMAND_LINE_ACTOR, action: "key.rotate", subject: publicId("key", id), details };
    const secret = await openAudit(run).record(act, async () => {
      const token = found && (await keys.rotate(found.accountId, id, keepMs));
      if (token === undefined) throw noKey();
      return token;
    });
    const oldUntil = keepMs === 0 ? null : ((await keys.find(null, id))?.previousUntil ?? null);
    const made = { id: publicId("key", id), name: found?.name ?? "", secret };
    const people = {
      Key: made.id,
      Name: made.name,
      Secret: secret,
      "Old secret": oldUntil === null ? "ended" : `works until ${oldUntil.toISOString()}`,
    };
    run.print(
      run.json
        ? JSON.stringify({ ...made, old_secret_until: oldUntil }, null, 2)
        : formatProperties(people, run.terminal),
    );
  });
}

function createToken(run: AdminRun): Promise<number> {
  return issue(
    run,
    "host_token",
    openHostTokenService,
    { name: parseNameArgument(run.args[1]) },
    (tokens, account, name) => tokens.issue(account, name),
  );
}

async function issue<Opened extends Pick<SecretStore, "close">>(
  run: AdminRun,
  what: "key" | "host_token",
  open: (options: SecretsOptions) => Opened,
  details: { name: string },
  make: (secrets: Opened, account: Uuid, name: string) => Promise<{ id: Uuid; token: string }>,
): Promise<number> {
  const { name } = details;
  const { id: account, kind } = await findAccount(run);
  const due = what === "key" ? "builder" : "host";
  if (kind !== due)
    throw new CommandError(`ACCOUNT must be a ${due} account, and ${run.args[0]} is a ${kind} account`, {
      next: `tollgate admin account list --kind ${due}`,
    });
  return withSecrets(run, open, async (secrets) => {
    const act = { operator: COMMAND_LINE_ACTOR, action: `${what}.create`, subject: run.args[0] ?? "", details };
    const { id, token } = await openAudit(run).record(act, () => make(secrets, account, name));
    const made = { id: publicId(what === "key" ? "key" : "hst", id), name, secret: token };
    const told = { [what === "key" ? "Key" : "Host token"]: made.id, Name: name, Secret: token };
    run.print(run.json ? JSON.stringify(made, null, 2) : formatProperties(told, run.terminal));
  });
}

async function revoke(run: AdminRun): Promise<number> {
  const id = keyId(run);
  return withSecrets(run, createApiKeyService, async (keys) => {
    const act = { operator: COMMAND_LINE_ACTOR, action: "key.revoke", subject: publicId("key", id) };
    await openAudit(run).record(act, async () => {
      if (!(await keys.revoke(null, id))) throw noKey();
    });
    run.print(run.json ? JSON.stringify({ id: publicId("key", id), revoked: true }) : "Revoked.");
  });
}

async function limits(run: AdminRun): Promise<number> {
  const id = keyId(run);
  const set = {
    requestsPerMinute: limitOf(run, "requests-per-minute"),
    tokensPerMinute: limitOf(run, "tokens-per-minute"),
    inFlight: limitOf(run, "in-flight"),
  };
  return withSecrets(run, createApiKeyService, async (keys) => {
    const act = { operator: COMMAND_LINE_ACTOR, action: "key.limits", subject: publicId("key", id), details: set };
    const own = await openAudit(run).record(act, async () => {
      const owners = await keys.setLimits(id, set);
      if (owners === undefined) throw noKey();
      return owners;
    });
    const limits = computeEffectiveLimits({ overrides: set, own });
    const told = { id: publicId("key", id), limits, ownLimits: set, defaultLimits: DEFAULT_KEY_LIMITS };
    run.print(
      run.json
        ? JSON.stringify(told)
        : `Set the key's limits on every gateway: ${formatLimits({ limits: set, ownLimits: own })}.`,
    );
  });
}

async function withSecrets<Opened extends Pick<SecretStore, "close">>(
  run: AdminRun,
  open: (options: SecretsOptions) => Opened,
  act: (secrets: Opened) => Promise<void>,
): Promise<number> {
  const { pool, newId, clock, config } = run;
  const { pepper } = await loadServerSecrets(config);
  const hasColumns = await hasPepperColumns(pool);
  // A command sends messages to gateways, but receives none.
  const broadcast: Broadcast = { send: (topic, text) => sendBroadcast(pool, topic, text), on() {}, async close() {} };
  const log = createErrorLog("warn");
  const secrets = open({
    pool,
    pepper,
    keepsPeppers: () => hasColumns,
    clock,
    random: systemRandom(),
    newId,
    log,
    broadcast,
  });
  try {
    await act(secrets);
    return 0;
  } finally {
    await secrets.close();
  }
}

const noKey = (): CommandError =>
  new CommandError("there is no such key, or it is revoked", { next: "tollgate admin key list ACCOUNT" });

function keyId({ args }: AdminRun): Uuid {
  const id = parseId("key", args[0] ?? "");
  if (id === undefined) throw new UsageError(`${args[0]} is not a key ID (key_…)`);
  return id;
}

function limitOf({ flags }: AdminRun, name: string): number | null {
  const text = flags[name];
  if (text === undefined || text === "default") return null;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} must be a whole number, or "default"`);
  return Number(text);
}
