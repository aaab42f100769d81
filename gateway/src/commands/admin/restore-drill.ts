/**
 * `tollgate admin restore-drill --database URL`: proves that a restored copy of the database works. The drill changes
 * the copy, so no other program may use it. It opens no port and no plane. It connects to the live database only to
 * verify that the copy is a different database.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { type BaseCommandContext, type Command, type CommandInput, JSON_FLAG } from "@tollgate/terminal/command.ts";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import { type Column, formatTable } from "@tollgate/terminal/table-format.ts";
import type pg from "pg";
import { openSecretReencryption } from "../../accounts/secret-reencryption.ts";
import { type Clock, systemClock } from "../../base/clock.ts";
import { type NewId, newIds, publicIdSuffix } from "../../base/ids.ts";
import { createErrorLog } from "../../base/log.ts";
import { systemRandom } from "../../base/random.ts";
import { listOtherSecrets } from "../../base/rotating-secret.ts";
import { deriveSessionSecrets } from "../../build/build-context.ts";
import { type Config, findDatabaseUrl, parseConfig } from "../../config.ts";
import { readBundledSql } from "../../db/bundled-sql.ts";
import { openDatabaseClock, readClock } from "../../db/database-clock.ts";
import { openPool } from "../../db/pool.ts";
import { column, queryRow, row } from "../../db/rows.ts";
import { readSchemaStatus } from "../../db/schema-status.ts";
import { deriveReceiptKey, listPublishedKeys, signReceipt, verifyReceipt } from "../../history/receipts.ts";
import { openRequestHistory } from "../../history/request-history.ts";
import { createApiKeyService } from "../../keys/api-keys.ts";
import { computeFingerprint, countPepperUsage, hasPepperColumns } from "../../keys/peppers.ts";
import { checkLedger } from "../../ledger/check.ts";
import { openLedger } from "../../ledger/ledger.ts";
import { openSpool } from "../../ledger/spool.ts";
import { enterSettlementsInLedger } from "../../ledger/spool-folder.ts";
import { readLines } from "../../ledger/spool-lines.ts";
import { openDeploymentRecord } from "../../plane/deployment/deployment-record.ts";
import { loadServerSecrets, type ServerSecrets } from "../../server-secrets.ts";
import { assertReachable } from "../explain-failure.ts";
import { type Backup, readBackup, SETTINGS_FILE, SPOOL_FOLDER } from "./backup-folder.ts";

/** Ignores the environment's database, which is the live one. */
export const restoreDrillCommand: Command = {
  help: "check that gateways can run on a restored copy of the database (exit code 1 if not)",
  flags: {
    database: {
      value: "URL",
      required: true,
      help: "URL of the copy (postgres://…); the drill commits the settlements in the backup's spools to it",
    },
    backup: {
      value: "DIR",
      help: "folder that tollgate admin backup wrote; the drill uses the settings and settles the spools in it (default: the settings in the environment, and no spools)",
    },
    key: { value: "-", help: "read an API key from standard input and check that it works" },
    ...JSON_FLAG,
  },
  more: [
    "The restore drill refuses to run on a database that gateways use, or on the database at DATABASE_URL. It does not connect to a dispatch plane or open a port.",
  ],
  example: "--database postgres://localhost/tollgate_drill --backup /backup/2026-11-16",
  run,
};

interface Result {
  check: string;
  good: boolean;
  words: string;
}

interface Drill {
  pool: pg.Pool;
  newId: NewId;
  clock: Clock;
  config: Config;
  secrets: ServerSecrets;
  backup: Backup | undefined;
}

const COLUMNS: Column<Result>[] = [
  { title: "CHECK", cell: ({ check }) => check },
  {
    title: "RESULT",
    cell: ({ good }) => (good ? "ok" : "FAILS"),
    colour: ({ good }, paint) => (good ? paint.good : paint.bad),
  },
  { title: "", cell: ({ words }) => words },
];

async function run({ flags, json }: CommandInput, { terminal, env }: BaseCommandContext): Promise<number> {
  const { database = "", backup: folder, key } = flags;
  if (!/^postgres(ql)?:\/\//.test(database))
    throw new UsageError("--database must begin with postgres:// or postgresql://");
  if (key !== undefined && key !== "-")
    throw new UsageError('--key must be "-", with the key on standard input: others can read the command line');
  const backup = folder === undefined ? undefined : await readBackup(resolve(folder));
  const token = key === undefined ? undefined : (await text(process.stdin)).trim();
  const log = createErrorLog("warn");
  const pool = openPool({ connectionString: database }, { log, sizeMax: 4 });
  const time = openDatabaseClock({ machine: systemClock, log });
  const { clock } = time;
  const newId = newIds(clock, systemRandom());
  try {
    await assertReachable(pool, "--database");
    await readClock(pool, systemClock, time);
    await assertCopy({ pool, newId, live: liveUrl(env) });
    const place = await mkdtemp(join(tmpdir(), "tollgate-drill-"));
    try {
      const config = configOf(backup, { database, place, env });
      const drill = { pool, newId, clock, config, secrets: await loadServerSecrets(config), backup };
      const results = await allOf(drill, { place, token, step: terminal.progress.step });
      const isGood = results.every(({ good }) => good);
      if (json) terminal.print(JSON.stringify({ passed: isGood, results }, null, 2));
      else
        terminal.print(
          `${formatTable(COLUMNS, results, terminal)}\n\n${isGood ? "Gateways can run on this copy of the database." : "GATEWAYS CANNOT RUN ON THIS COPY OF THE DATABASE."}`,
        );
      return isGood ? 0 : 1;
    } finally {
      await rm(place, { recursive: true });
    }
  } finally {
    await pool.end();
  }
}

/** The URL of the live database, if the environment names it. */
function liveUrl(env: BaseCommandContext["env"]): string | undefined {
  const { DATABASE_URL, DATABASE_URL_FILE } = env;
  return (DATABASE_URL ?? "") === "" && (DATABASE_URL_FILE ?? "") === "" ? undefined : findDatabaseUrl(env);
}

/** Verifies that the copy is a different database: writes a marker into one database and looks for it in the other. */
async function assertCopy({
  pool,
  newId,
  live,
}: {
  pool: pg.Pool;
  newId: NewId;
  live: string | undefined;
}): Promise<void> {
  const copy = openDeploymentRecord({ pool, newId });
  const { gateways } = await copy.inUse();
  if (gateways > 0)
    throw new CommandError(`${gateways} gateways use this database`, {
      next: "set --database to the URL of a copy that no gateway uses",
    });
  if (live === undefined) return;
  const mark = await copy.mark();
  const livePool = openPool({ connectionString: live }, { log: createErrorLog("silent"), sizeMax: 1 });
  try {
    if (await openDeploymentRecord({ pool: livePool, newId }).hasMark(mark)) {
      throw new CommandError("--database must not be the live database (DATABASE_URL)", {
        next: "make a copy of the database, and give its URL as --database",
      });
    }
  } finally {
    await livePool.end();
  }
}

/** Builds the configuration from the environment, or as a gateway would that has only the backup. */
function configOf(
  backup: Backup | undefined,
  { database, place, env }: { database: string; place: string; env: BaseCommandContext["env"] },
): Config {
  if (backup === undefined) return parseConfig({ ...env, DATABASE_URL_FILE: "", DATABASE_URL: database });
  const lines = backup.files.get(SETTINGS_FILE)?.toString().split("\n") ?? [];
  const settings = lines
    .filter((line) => line !== "")
    .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]);
  return parseConfig({ ...Object.fromEntries(settings), DATABASE_URL: database, DATA_DIR: place });
}

interface DrillOptions {
  place: string;
  token: string | undefined;
  step: (what: string) => void;
}

async function allOf(drill: Drill, { place, token, step }: DrillOptions): Promise<Result[]> {
  step("checking the ledger");
  const results = [
    ...whole(drill),
    await schema(drill),
    await deployment(drill),
    await books(drill, "the restored ledger"),
  ];
  if (drill.backup !== undefined) {
    step("settling the charges in the spools, then checking the ledger again");
    results.push(await spools(drill, place), await books(drill, "the ledger after settling the charges in the spools"));
  }
  step("checking keys and receipts");
  results.push(await pepper(drill), await receipts(drill), await secondFactors(drill));
  if (token !== undefined) results.push(await apiKey(drill, token));
  return results;
}

const result = (check: string, good: boolean, words: string): Result => ({ check, good, words });

function whole({ backup }: Drill): Result[] {
  if (backup === undefined) return [];
  const { damage, manifest } = backup;
  return [
    result(
      "the backup",
      damage.length === 0,
      damage.join("; ") || `${manifest.files.length} files, of ${manifest.made_at}`,
    ),
  ];
}

async function schema({ pool }: Drill): Promise<Result> {
  const { migrations } = await readBundledSql({});
  const { schema: number, pending } = await readSchemaStatus(pool, migrations);
  const words = pending.length === 0 ? "up to date" : `${pending.length} migrations to run: tollgate migrate`;
  return result("the schema", number > 0, `${number}, ${words}`);
}

async function deployment({ pool, newId, backup }: Drill): Promise<Result> {
  const { id, forkedFrom } = await openDeploymentRecord({ pool, newId }).read();
  const expected = backup?.manifest.deployment;
  const isSame = expected === undefined || expected === id || expected === forkedFrom;
  return result(
    "the deployment",
    isSame,
    isSame ? id : `${id}; the backup was made of another deployment, ${expected}`,
  );
}

async function books({ pool }: Drill, name: string): Promise<Result> {
  const checks = await checkLedger(pool);
  const wrong = checks.filter(({ differences }) => differences.length > 0);
  const words = wrong.map(({ name: rule, differences }) => `${rule}: ${differences[0]}`).join("; ");
  return result(name, wrong.length === 0, words || `${checks.length} rules hold`);
}

/** Settles spooled requests as the next gateway would. The backup's files stay unchanged. */
async function spools({ pool, newId, clock, backup }: Drill, place: string): Promise<Result> {
  const [gatewayId, log] = [publicIdSuffix(newId()), createErrorLog("silent")];
  const spool = await openSpool({ directory: join(place, SPOOL_FOLDER), gatewayId, clock, log });
  const ledger = openLedger({ pool, clock, gatewayId, spool, log });
  const counts = { entered: 0, known: 0, givenUp: 0, damaged: 0 };
  try {
    for (const [name, bytes] of backup?.files ?? []) {
      if (!name.startsWith(`${SPOOL_FOLDER}/`) || !basename(name).endsWith(".spool")) continue;
      const { settlements, damaged, foreign } = readLines(bytes.toString());
      counts.damaged += damaged + foreign;
      const { entered, known, givenUp } = await enterSettlementsInLedger(ledger, settlements);
      counts.entered += entered;
      counts.known += known;
      counts.givenUp += givenUp;
    }
  } finally {
    await ledger.close();
    await spool.close();
  }
  const words = `settlements entered into the ledger: ${counts.entered}; already there: ${counts.known}`;
  const bad = counts.givenUp + counts.damaged === 0 ? "" : `; ${counts.givenUp} refused, ${counts.damaged} unreadable`;
  return result("the spools", bad === "", `${words}${bad}`);
}

/** Compares the backup's pepper (the secret for hashing keys) with the check value in the database. */
async function pepper({ pool, secrets }: Drill): Promise<Result> {
  if (!(await hasPepperColumns(pool)))
    return result(
      "the pepper",
      true,
      "this database does not record peppers; to check the pepper, give an API key on standard input (--key -)",
    );
  const known = [secrets.pepper, secrets.pepperOld, secrets.pepperNext].filter((one) => one !== undefined);
  let fits = 0;
  let total = 0;
  for (const kind of ["api_key", "host_token"] as const) {
    for (const [at, one] of known.entries()) {
      const seen = await countPepperUsage(pool, kind, one);
      fits += seen.total - seen.unseen;
      if (at === 0) total += seen.total;
    }
  }
  const foreign = await otherPeppers(pool, known);
  const words = `made ${fits} of ${total} hashes${foreign === 0 ? "" : `; another pepper made ${foreign}`}`;
  return result("the pepper", foreign === 0, words);
}

const Count = row({ count: column.count });

async function otherPeppers(pool: pg.Pool, known: string[]): Promise<number> {
  const found = await queryRow(
    pool,
    Count,
    `select count(*)::int as count from (select pepper from api_key where revoked_at is null
                                         union all select pepper from host_token where revoked_at is null) as secret
      where pepper <> all ($1)`,
    [known.map(computeFingerprint)],
  );
  return found?.count ?? 0;
}

const Newest = row({ id: column.uuid, accountId: column.uuid });

/** Signs a receipt for the latest request, and verifies it with the published keys. */
async function receipts({ pool, secrets }: Drill): Promise<Result> {
  const seed = Buffer.from(secrets.receiptSeed, "base64url");
  const { keyId } = deriveReceiptKey(seed);
  const keys = await listPublishedKeys(pool);
  if (!keys.some(({ id }) => id === keyId)) {
    return result("receipts", false, `the seed belongs to the key ${keyId}, which this database never published`);
  }
  const text = `select id, account_id as "accountId" from request where outcome = 'ok' order by id desc limit 1`;
  const newest = await queryRow(pool, Newest, text);
  const record = newest && (await openRequestHistory({ pool }).find(newest.accountId, newest.id));
  if (record === undefined) return result("receipts", true, `${keyId} is published; there is no request to sign for`);
  const verdict = verifyReceipt(signReceipt(record, seed), keys);
  const words = verdict.valid ? `a receipt signed with the key ${keyId} was verified` : verdict.why;
  return result("receipts", verdict.valid, words);
}

async function secondFactors({ pool, config, secrets }: Drill): Promise<Result> {
  const session = deriveSessionSecrets(config, secrets);
  const kept = openSecretReencryption({ pool, secret: session.current, others: listOtherSecrets(session) });
  const { readable, unreadable } = await kept.count();
  const words = unreadable === 0 ? `${readable} can be read` : `${unreadable} cannot be read with this session secret`;
  return result("second factors", unreadable === 0, words);
}

async function apiKey({ pool, newId, clock, secrets }: Drill, token: string): Promise<Result> {
  const broadcast = { send: async () => {}, on() {}, async close() {} };
  const { pepper: current, pepperOld: old, pepperNext: next } = secrets;
  const common = { pool, newId, clock, random: systemRandom(), log: createErrorLog("warn"), broadcast };
  // The drill creates no new hashes, only verifies existing ones.
  const keys = createApiKeyService({ ...common, pepper: current, old, next, keepsPeppers: () => false });
  const holder = await keys.authenticate(`Bearer ${token}`);
  await keys.close();
  return result(
    "the key",
    holder !== undefined,
    holder === undefined ? "the API key is not valid with this database and pepper" : `works: "${holder.name}"`,
  );
}
