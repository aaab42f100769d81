/**
 * `npm run histories`: several gateways and one PostgreSQL are killed and frozen while every call and its return are
 * recorded. Then the history is checked against a model of the ledger. `--controls` also runs platforms with deliberate
 * errors, and fails if one is not detected. The result depends only on outcomes, not on time: a slow machine just makes
 * a shorter history.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { REPOSITORY_ROOT } from "@tollgate/stage/gateway-process.ts";
import { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { explainMissingPostgres } from "../../gateway/src/db/testing/postgres-versions.ts";
import { ensureServers } from "../../tools/install-test-servers.ts";
import { natsReleases } from "../../tools/nats-servers.ts";
import { type FaultEpisode, findViolations, isViolationCounted } from "../audit/find-violations.ts";
import { type LedgerState, readLedger } from "../audit/ledger-state.ts";
import { type CallRecordingWorkers, startWorkers } from "./call-recording-workers.ts";
import { createCallers } from "./callers.ts";
import { FREEZE_PAST_LEASE, HISTORY_FAULTS, KILL_POSTGRES } from "./faults.ts";
import { checkHistory, type LedgerCredit, type ModelViolation } from "./ledger-model.ts";
import { FAULTY_PLATFORMS } from "./negative-controls.ts";
import { formatHistory, type History } from "./recorded-calls.ts";
import { LATE_SETTLEMENTS_TABLE, openStage, type ThreeGatewayStage } from "./three-gateway-stage.ts";

const USAGE = `Usage: npm run histories -- [flags]
  --seconds S       how long calls are made and parts are struck (default 60)
  --seed N          which calls and strikes (default: of the time)
  --controls        the platforms that are wrong on purpose, too: each has to be found out
  --control NAME    one of them alone: ${Object.keys(FAULTY_PLATFORMS).join(", ")}
  --postgres MAJOR  18 (npm's, default) or 15 (Debian's)
  --keep            keeps the logs and the history, also of a good run`;

const LEASE_S = 10;
/** Runs of at least this many seconds also freeze a gateway for longer than a lease. */
const LONG_S = 120;
const PAST_LEASE_ONE_IN = 12;
/**
 * The number of acknowledged calls between two faults. A slow machine has fewer faults, but as many calls between them.
 */
const LEAD_CALLS = { least: 2, most: 60 };
const SHOWN_OF_EACH = 4;
/** A control has this many faults, with `CONTROL_CALLS` acknowledged calls before each. */
const CONTROL_STRIKES = 4;
const CONTROL_CALLS = 60;

/** The results that clients may get while processes die: each shows that the request was not served. */
const MAY_SHOW = [
  ...[
    "503",
    "503 no_capacity",
    "event no_capacity",
    "429 rate_limit_sku_capacity",
    "502 upstream_stall",
    "event upstream_stall",
  ],
  ...["connection lost", "no answer"],
];

interface Judged {
  findings: { rule: string; what: string }[];
  calls: number;
  acknowledged: number;
  strikes: number;
  /** The number of requests that were settled after their leases had expired. */
  late: number;
}

interface RunOptions {
  seed: number;
  seconds: number;
  major: number;
  keep: boolean;
  control: string | undefined;
}

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    controls: { type: "boolean", default: false },
    control: { type: "string" },
    postgres: { type: "string", default: "18" },
    keep: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (flags.help) {
  console.log(USAGE);
  process.exit(0);
}
if (flags.control !== undefined && FAULTY_PLATFORMS[flags.control] === undefined)
  throw new Error(`--control must be one of ${Object.keys(FAULTY_PLATFORMS).join(", ")}`);
// The run's many processes load the same sources. With the compile cache, only the first one compiles them.
process.env.NODE_COMPILE_CACHE ??= join(REPOSITORY_ROOT, "node_modules/.cache/compiled");
ensureServers();
const options = {
  seed: numberOf("seed", flags.seed),
  seconds: numberOf("seconds", flags.seconds),
  major: numberOf("postgres", flags.postgres),
  keep: flags.keep,
};
const without =
  natsReleases().length === 0 ? "nats-server is not installed" : await explainMissingPostgres(options.major);
if (without !== undefined) {
  console.log(`left out: npm run histories (${without})`);
  process.exit(0);
}
let passed = true;
if (flags.control === undefined) passed = (await run({ ...options, control: undefined })) && passed;
const wanted = flags.controls ? Object.keys(FAULTY_PLATFORMS) : flags.control === undefined ? [] : [flags.control];
for (const control of wanted) passed = (await run({ ...options, control })) && passed;
process.exit(passed ? 0 : 1);

/** Returns true if the run found no error or, for a control, if it found the deliberate error. */
async function run({ seed, seconds, major, keep, control: name }: RunOptions): Promise<boolean> {
  const control = name === undefined ? undefined : FAULTY_PLATFORMS[name];
  const begun = performance.now();
  const now = (): number => performance.now() - begun;
  const say = (line: string): void => console.log(`${(now() / 1000).toFixed(0).padStart(5)} s  ${line}`);
  say(`${name === undefined ? "history" : `control ${name}`}, seed ${seed}`);
  const stage = await openStage({
    ...{ major, holdLeaseS: LEASE_S, server: control?.server ?? {}, gateways: control?.gateways ?? {} },
    connections: control?.connections,
  });
  let asItShould = false;
  try {
    const people = await createCallers(stage);
    const prepared = async (): Promise<void> => await control?.plant(stage);
    const calls = await startWorkers({ stage, people, chance: new SeededRandom(`calls ${seed}`), now, prepared });
    say(`calls are made; logs: ${stage.directory}`);
    const chance = new SeededRandom(`strikes ${seed}`);
    const strikes =
      name === undefined
        ? await strikeFor(stage, { chance, calls, endsAt: now() + seconds * 1000, isLong: seconds >= LONG_S, now, say })
        : await strikeAfterCalls(stage, { chance, calls, strikes: name === "synchronous_commit" });
    await calls.stop();
    say("every call has returned; waiting for the last holds");
    // If a hold is left after the timeout, the check below reports it.
    const noHold = async (): Promise<boolean> => (await stage.query("select 1 from hold limit 1")).length === 0;
    await eventually("no hold is left", noHold).catch(() => undefined);
    const { findings, ...counts } = await judge(stage, calls, { now, strikes });
    await writeFile(join(stage.directory, "history.jsonl"), formatHistory(calls.history));
    say(`${counts.calls} calls, ${counts.acknowledged} acknowledged, ${strikes} strikes, PostgreSQL ${stage.version}`);
    say(`${told(calls.history)}; settled late: ${counts.late}`);
    tellFindings(findings);
    const isFound = findings.some(({ rule }) => control?.foundBy.includes(rule) === true);
    asItShould = control === undefined ? findings.length === 0 : isFound;
    if (control === undefined) say(asItShould ? "no violation" : `${findings.length} VIOLATIONS`);
    else say(isFound ? `control ${name}: found` : `control ${name}: NOT FOUND`);
    return asItShould;
  } finally {
    if (!asItShould || keep) console.log(`logs and history are kept: ${stage.directory}`);
    await stage.close({ keep: keep || !asItShould });
  }
}

interface Striking {
  chance: SeededRandom;
  calls: CallRecordingWorkers;
  endsAt: number;
  isLong: boolean;
  now: () => number;
  say: (line: string) => void;
}

async function strikeFor(
  stage: ThreeGatewayStage,
  { chance, calls, endsAt, isLong, now, say }: Striking,
): Promise<number> {
  let struck = 0;
  for (;;) {
    const due = calls.acknowledged() + chance.between(LEAD_CALLS.least, LEAD_CALLS.most);
    await eventually("more calls are acknowledged", () => calls.acknowledged() >= due || now() >= endsAt);
    if (now() >= endsAt) return struck;
    const strike = isLong && chance.oneIn(PAST_LEASE_ONE_IN) ? FREEZE_PAST_LEASE : chance.pick(HISTORY_FAULTS);
    say(strike.name);
    await strike.strike(stage, chance);
    struck += 1;
  }
}

/**
 * Causes a control's faults, each after a number of acknowledged calls. Calls are counted instead of seconds, so that
 * even on a slow machine there are commits to lose.
 */
async function strikeAfterCalls(
  stage: ThreeGatewayStage,
  { chance, calls, strikes }: { chance: SeededRandom; calls: CallRecordingWorkers; strikes: boolean },
): Promise<number> {
  for (let i = 0; i < CONTROL_STRIKES; i++) {
    const due = calls.acknowledged() + CONTROL_CALLS;
    await eventually("more calls are acknowledged", () => calls.acknowledged() >= due);
    if (strikes) await KILL_POSTGRES.strike(stage, chance);
  }
  return strikes ? CONTROL_STRIKES : 0;
}

async function judge(
  stage: ThreeGatewayStage,
  { history, acknowledged }: CallRecordingWorkers,
  { now, strikes }: { now: () => number; strikes: number },
): Promise<Judged> {
  const { code, output } = await stage.admin(["ledger", "check"]);
  const ledgerState: LedgerState = {
    ...(await readLedger((sql) => stage.query(sql))),
    ledgerCheck: code === 0 ? null : output,
  };
  const credits = await stage.query<Omit<LedgerCredit, "amount"> & { amount: string }>(
    `select t.kind, t.account_id as account, t.amount::text, coalesce(m.checkout_id::text, t.reason) as mark
       from transfer t left join payment_move m on m.transfer_id = t.id`,
  );
  const keys = await stage.query<{ id: string; key: string }>("select id, key_id as key from request");
  const late = await stage.query<{ id: string }>(`select distinct id from ${LATE_SETTLEMENTS_TABLE}`);
  // Processes die all the time, so the auditor treats the whole run as one fault.
  const always: FaultEpisode = {
    ...{ fault: "history", struckAt: 0, healedAt: 0, calmAt: now(), recovered: true, recoversWithinMs: now() },
    ...{ mayShow: MAY_SHOW, mayWait: true, mayBar: true },
  };
  const audited = findViolations({ sights: history.chats, ledgerState, episodes: [always], epoch: 0 });
  const modelled: ModelViolation[] = checkHistory(history, {
    ...ledgerState,
    credits: credits.map((row) => ({ ...row, amount: BigInt(row.amount) })),
    keys: new Map(keys.map(({ id, key }) => [id, key])),
    late: new Set(late.map(({ id }) => id)),
  });
  const { chats, credits: called, budgets, balances } = history;
  return {
    findings: [...audited.filter((one) => isViolationCounted(one, { strict: false })), ...modelled],
    calls: chats.length + called.length + budgets.length + balances.length,
    acknowledged: acknowledged(),
    strikes,
    late: late.length,
  };
}

/** Prints only a few errors for each rule, because one cause has many consequences. */
function tellFindings(findings: Judged["findings"]): void {
  for (const [rule, all] of Map.groupBy(findings, (finding) => finding.rule)) {
    for (const { what } of all.slice(0, SHOWN_OF_EACH)) console.log(`         ${rule}: ${what}`);
    if (all.length > SHOWN_OF_EACH) console.log(`         ${rule}: and ${all.length - SHOWN_OF_EACH} more`);
  }
}

/** Describes the number of calls, by kind and outcome. */
function told({ chats, credits, budgets, balances }: History): string {
  const counts = (list: readonly string[]): string =>
    Object.entries(Object.groupBy(list, (name) => name))
      .map(([name, all]) => `${name} ${all?.length}`)
      .join(", ");
  const outcomes = (list: readonly { outcome: string }[]): string => counts(list.map(({ outcome }) => outcome));
  return (
    `chats: ${counts(chats.map(({ end, status }) => (end === "refused" ? `${status}` : end)))}; credits: ${outcomes(credits)}; ` +
    `budgets: ${outcomes(budgets)}; balances: ${outcomes(balances)}`
  );
}

function numberOf(flag: string, value: string): number {
  const number = Number(value);
  if (!Number.isFinite(number) || number < 0) throw new Error(`--${flag} must be a number from 0 on`);
  return number;
}
