/** `tollgate admin key …` and `host-token create`: made, listed, limited and revoked from the shell. */
import { systemClock } from "../../base/clock.ts";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { createErrorLog } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { announce, type Broadcast } from "../../db/broadcast.ts";
import { openApiKeys, openHostTokens, type SecretRecord, type Secrets } from "../../keys/keys.ts";
import { openAudit } from "../../operators/audit.ts";
import { serverSecrets } from "../../server-secrets.ts";
import { findAccount } from "./accounts.ts";
import { type AdminCommand, type AdminRun, SHELL_OPERATOR } from "./admin-run.ts";

export const keyCommands: Record<string, AdminCommand> = {
  "key list": { help: "an account's API keys", args: ["ACCOUNT"], run: list },
  "key create": { help: "a new API key; it is shown here and never again", args: ["ACCOUNT", "NAME"], run: create },
  "key revoke": { help: "end an API key at once", args: ["KEY"], run: revoke },
  "key limits": {
    help: "an API key's own limits; what is not named goes back to the default",
    args: ["KEY"],
    flags: ["requests-per-minute", "tokens-per-minute", "in-flight"],
    run: limits,
  },
  "host-token create": {
    help: "a new host token; it is shown here and never again",
    args: ["ACCOUNT", "NAME"],
    run: createToken,
  },
};

async function list(run: AdminRun): Promise<number> {
  const { id } = await findAccount(run);
  return withSecrets(run, openApiKeys, async (keys) => {
    const records = await keys.list(id);
    if (run.json) run.print(JSON.stringify(records.map(shown), null, 2));
    else for (const record of records) run.print(line(record));
  });
}

function create(run: AdminRun): Promise<number> {
  return issue(run, openApiKeys, "key");
}

function createToken(run: AdminRun): Promise<number> {
  return issue(run, openHostTokens, "host_token");
}

async function issue(run: AdminRun, open: typeof openApiKeys, what: "key" | "host_token"): Promise<number> {
  const name = run.args[1] ?? "";
  if (name.trim() === "" || name.length > 200) throw new Error("NAME must have 1 to 200 characters");
  const { id: account, kind } = await findAccount(run);
  const due = what === "key" ? "builder" : "host";
  if (kind !== due) throw new Error(`ACCOUNT must be a ${due} account, and ${run.args[0]} is a ${kind}'s`);
  return withSecrets(run, open, async (secrets) => {
    const act = { operator: SHELL_OPERATOR, action: `${what}.create`, subject: run.args[0] ?? "", details: { name } };
    const { id, token } = await openAudit(run).record(act, () => secrets.issue(account, name));
    const made = { id: publicId(what === "key" ? "key" : "hst", id), name, secret: token };
    run.print(run.json ? JSON.stringify(made, null, 2) : `${made.id}  ${token}`);
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
    await openAudit(run).record(act, async () => {
      if (!(await keys.setLimits(id, set))) throw new Error("there is no such key, or it is revoked");
    });
    run.print(run.json ? JSON.stringify({ id: publicId("key", id), ...set }) : "Set; every gateway has been told.");
  });
}

async function withSecrets(
  run: AdminRun,
  open: typeof openApiKeys,
  act: (secrets: Secrets) => Promise<void>,
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
  if (id === undefined) throw new Error(`${args[0]} is not a key's id (key_…)`);
  return id;
}

function limitOf({ flags }: AdminRun, name: string): number | null {
  const text = flags[name];
  if (text === undefined) return null;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
}

function line({ id, name, reference, lastUsedAt, revokedAt }: SecretRecord): string {
  const state =
    revokedAt !== null ? "revoked" : lastUsedAt === null ? "never used" : `used ${lastUsedAt.toISOString()}`;
  return `${publicId("key", id)}  tsk_live_${reference}_…  ${name}  ${state}`;
}

const shown = ({ id, accountId: account, ...rest }: SecretRecord): object => ({
  id: publicId("key", id),
  account: publicId("acc", account),
  ...rest,
});
