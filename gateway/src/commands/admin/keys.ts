/** `tollgate admin key …` and `host-token create`: made, listed, limited and revoked from the shell. */
import { systemClock } from "../../base/clock.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { createErrorLog } from "../../base/log.ts";
import { exactMicro, ZERO } from "../../base/money.ts";
import { systemRandom } from "../../base/random.ts";
import { startOfMonth } from "../../base/time.ts";
import { announce, type Broadcast } from "../../db/broadcast.ts";
import type { HourlySum } from "../../history/hourly-sums.ts";
import { type ApiKeyRecord, type ApiKeys, openApiKeys } from "../../keys/api-keys.ts";
import { openHostTokens, type Secrets, type SecretsOptions } from "../../keys/keys.ts";
import { DEFAULT_LIMITS, type KeyLimits, limitsInForce } from "../../limits/limits.ts";
import { openAudit } from "../../operators/audit.ts";
import { openDirectory } from "../../operators/directory.ts";
import { serverSecrets } from "../../server-secrets.ts";
import { type Column, dollarsText, properties, table } from "../line/columns.ts";
import { UsageError } from "../line/command.ts";
import { findAccount } from "./accounts.ts";
import { ACCOUNT, type AdminCommand, type AdminRun, NAME, nameOf, SHELL_OPERATOR } from "./admin-run.ts";

const PAGE_ROWS = 1000;

const KEY = { KEY: { help: "the key's id: key_…" } };

export const keyCommands: Record<string, AdminCommand> = {
  "key list": {
    help: "an account's API keys, their limits and this month's spend",
    args: ACCOUNT,
    more: ["A star stands at limits that are the key's own."],
    example: "acc_01jc9v6w2e8t3k5m7q9r1s4x6z",
    run: list,
  },
  "key create": {
    help: "a new API key; it is shown here and never again",
    args: { ...ACCOUNT, ...NAME },
    example: "acc_01jc9v6w2e8t3k5m7q9r1s4x6z production",
    run: create,
  },
  "key revoke": { help: "end an API key at once", args: KEY, example: "key_01jc9v6w2e8t3k5m7q9r1s4x6z", run: revoke },
  "key limits": {
    help: "an API key's own limits; what is not named, or is `default`, goes back to the platform's",
    args: KEY,
    flags: {
      "requests-per-minute": { value: "N", help: "a whole number, or default" },
      "tokens-per-minute": { value: "N", help: "a whole number, or default" },
      "in-flight": { value: "N", help: "how many at once: a whole number, or default" },
    },
    example: "key_01jc9v6w2e8t3k5m7q9r1s4x6z --requests-per-minute 60 --in-flight 4",
    run: limits,
  },
  "host-token create": {
    help: "a new host token; it is shown here and never again",
    args: { ...ACCOUNT, ...NAME },
    example: "acc_01jc9v6w2e8t3k5m7q9r1s4x6z barn",
    run: createToken,
  },
};

async function list(run: AdminRun): Promise<number> {
  const { id } = await findAccount(run);
  return withSecrets(run, openApiKeys, async (keys) => {
    const spend = await openDirectory(run).spendByKey(id, startOfMonth(systemClock.now()));
    const all = await everySecret(keys, id);
    const records = all.map((record) => ({ record, spend: spend.get(record.id) }));
    if (run.json) run.print(JSON.stringify(records.map(shown), null, 2));
    else run.print(records.length === 0 ? "This account has no key." : table(COLUMNS, records));
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

function create(run: AdminRun): Promise<number> {
  return issue(run, openApiKeys, "key");
}

function createToken(run: AdminRun): Promise<number> {
  return issue(run, openHostTokens, "host_token");
}

async function issue(
  run: AdminRun,
  open: (options: SecretsOptions) => Secrets,
  what: "key" | "host_token",
): Promise<number> {
  const name = nameOf(run.args[1]);
  const { id: account, kind } = await findAccount(run);
  const due = what === "key" ? "builder" : "host";
  if (kind !== due) throw new Error(`ACCOUNT must be a ${due} account, and ${run.args[0]} is a ${kind}'s`);
  return withSecrets(run, open, async (secrets) => {
    const act = { operator: SHELL_OPERATOR, action: `${what}.create`, subject: run.args[0] ?? "", details: { name } };
    const { id, token } = await openAudit(run).record(act, () => secrets.issue(account, name));
    const made = { id: publicId(what === "key" ? "key" : "hst", id), name, secret: token };
    const told = { [what === "key" ? "Key" : "Host token"]: made.id, Name: name, Secret: token };
    run.print(run.json ? JSON.stringify(made, null, 2) : properties(told));
  });
}

async function revoke(run: AdminRun): Promise<number> {
  const id = keyId(run);
  return withSecrets(run, openApiKeys, async (keys) => {
    const act = { operator: SHELL_OPERATOR, action: "key.revoke", subject: publicId("key", id) };
    await openAudit(run).record(act, async () => {
      if (!(await keys.revoke(null, id))) throw new Error("there is no such key, or it is revoked already");
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
  return withSecrets(run, openApiKeys, async (keys) => {
    const act = { operator: SHELL_OPERATOR, action: "key.limits", subject: publicId("key", id), details: set };
    const own = await openAudit(run).record(act, async () => {
      const owners = await keys.setLimits(id, set);
      if (owners === undefined) throw new Error("there is no such key, or it is revoked");
      return owners;
    });
    const limits = limitsInForce({ overrides: set, own });
    const told = { id: publicId("key", id), limits, ownLimits: set, defaultLimits: DEFAULT_LIMITS };
    run.print(
      run.json
        ? JSON.stringify(told)
        : `Set; every gateway has been told. ${limitsLine({ limits: set, ownLimits: own })}.`,
    );
  });
}

async function withSecrets<Opened extends Pick<Secrets, "close">>(
  run: AdminRun,
  open: (options: SecretsOptions) => Opened,
  act: (secrets: Opened) => Promise<void>,
): Promise<number> {
  const { pool, newId, config } = run;
  const { keyPepper, receiptSeed, plane, dataDir } = config;
  const { pepper } = await serverSecrets({ dataDir, pepper: keyPepper, receiptSeed, planeSeed: plane.seed });
  // A command tells the gateways and has no need to listen.
  const broadcast: Broadcast = { send: (topic, text) => announce(pool, topic, text), on() {}, async close() {} };
  const log = createErrorLog("warn");
  const secrets = open({ pool, pepper, clock: systemClock, random: systemRandom(), newId, log, broadcast });
  try {
    await act(secrets);
    return 0;
  } finally {
    await secrets.close();
  }
}

function keyId({ args }: AdminRun): Uuid {
  const id = parseId("key", args[0] ?? "");
  if (id === undefined) throw new UsageError(`${args[0]} is not a key's id (key_…)`);
  return id;
}

function limitOf({ flags }: AdminRun, name: string): number | null {
  const text = flags[name];
  if (text === undefined || text === "default") return null;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`--${name} must be a whole number, or default`);
  return Number(text);
}

type Limited = Pick<ApiKeyRecord, "limits" | "ownLimits">;

interface Listed {
  record: ApiKeyRecord;
  /** Undefined where it spent nothing. */
  spend: HourlySum | undefined;
}

const COLUMNS: Column<Listed>[] = [
  { title: "KEY", cell: ({ record }) => publicId("key", record.id) },
  { title: "BEGINS", cell: ({ record }) => `tsk_live_${record.reference}_…` },
  { title: "NAME", cell: ({ record }) => record.name },
  { title: "STATE", cell: ({ record }) => (record.revokedAt === null ? "active" : "revoked") },
  { title: "LAST USED", cell: ({ record }) => record.lastUsedAt?.toISOString() ?? "never" },
  { title: "THIS MONTH", align: "money", cell: ({ spend }) => dollarsText(spend?.amount ?? ZERO) },
  { title: "REQUESTS/MIN", align: "right", cell: ({ record }) => limitText(record, "requestsPerMinute") },
  { title: "TOKENS/MIN", align: "right", cell: ({ record }) => limitText(record, "tokensPerMinute") },
  { title: "AT ONCE", align: "right", cell: ({ record }) => limitText(record, "inFlight") },
];

function shown({ record, spend }: Listed): object {
  const { id, accountId, limits: overrides, ownLimits: own, budgetDay, budgetMonth, ...rest } = record;
  return {
    id: publicId("key", id),
    account: publicId("acc", accountId),
    ...rest,
    limits: limitsInForce({ overrides, own }),
    ownLimits: overrides,
    ownersLimits: own,
    budget_day_micro: budgetDay === null ? null : exactMicro(budgetDay),
    budget_month_micro: budgetMonth === null ? null : exactMicro(budgetMonth),
    defaultLimits: DEFAULT_LIMITS,
    spend_this_month: { requests: spend?.requests ?? 0, charge_micro: exactMicro(spend?.amount ?? ZERO) },
  };
}

/** What holds for a key, with a star where it is its own: `5*`. */
function limitText({ limits: overrides, ownLimits: own }: Limited, name: keyof KeyLimits): string {
  const holds = limitsInForce({ overrides, own })[name];
  return `${holds}${holds === DEFAULT_LIMITS[name] ? "" : "*"}`;
}

/** `5* requests/min, 2000000 tokens/min, 64 at once`. */
function limitsLine(limited: Limited): string {
  const units = { requestsPerMinute: "requests/min", tokensPerMinute: "tokens/min", inFlight: "at once" } as const;
  const names = Object.keys(units) as (keyof typeof units)[];
  return names.map((name) => `${limitText(limited, name)} ${units[name]}`).join(", ");
}
