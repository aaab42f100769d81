/** Ends a run: stops the load, waits until the last holds are settled, runs the auditor and prints its findings. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { startLoad } from "@tollgate/stage/load/load.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { type FaultEpisode, findViolations, isViolationCounted, type Violation } from "./audit/find-violations.ts";
import { type LedgerState, type Query, readLedger } from "./audit/ledger-state.ts";
import { buildReport, formatReportTable } from "./report.ts";
import type { Platform } from "./stage/stage.ts";

const VIOLATIONS_SHOWN = 50;

interface Run {
  load: ReturnType<typeof startLoad>;
  episodes: FaultEpisode[];
  /** The time at which the run began, in milliseconds since 1970. */
  epoch: number;
  seed: number;
  minutes: number;
  /** The command that repeats the run. */
  repeat: string;
  leftOut: string[];
  strict: boolean;
  /** The file to which the JSON report is written. */
  json: string | undefined;
  /** Queries the gateways' database as its superuser. */
  query: Query;
  say: (line: string) => void;
}

/** Returns the number of violations. */
export async function auditRun(platform: Platform, run: Run): Promise<number> {
  const { load, episodes, epoch, seed, minutes, repeat, leftOut, strict, json, query, say } = run;
  say("all faults are healed; waiting for requests in flight");
  await load.stop();
  await untilAllSettled(platform, run);
  const found = findViolations({ sights: load.sights, ledgerState: await ledgerOf(platform, query), episodes, epoch });
  const violations = found.filter((violation) => isViolationCounted(violation, { strict }));
  const reported = found.filter((violation) => !isViolationCounted(violation, { strict }));
  const { versions, directory } = platform;
  const report = buildReport({
    ...{ seed, minutes, repeat, versions, left_out: leftOut, requests_left_out: load.leftOut() },
    ...{ sights: load.sights, episodes, violations, reported },
  });
  if (json !== undefined) await writeFile(json, `${JSON.stringify(report, null, 2)}\n`);
  await writeFile(join(directory, "sights.json"), JSON.stringify(load.sights));
  console.log(`\n${formatReportTable(report)}\n`);
  console.log(
    Object.entries(versions)
      .map(([part, version]) => `${part} ${version}`)
      .join(", "),
  );
  for (const line of leftOut) console.log(`left out: ${line}`);
  if (load.leftOut() > 0) console.log(`${load.leftOut()} requests were not sent: too many were in flight`);
  tellViolations(violations, reported);
  return violations.length;
}

/** Waits until no hold is left. A hold whose gateway died expires with its lease, and the next sweep releases it. */
async function untilAllSettled({ holdLeaseS }: Platform, { query, say }: Pick<Run, "query" | "say">): Promise<void> {
  say(`waiting for the last holds, ${holdLeaseS} s and a little`);
  const noHold = async (): Promise<boolean> => (await query("select 1 from hold limit 1")).length === 0;
  // If a hold is left after the timeout, the auditor reports it.
  await eventually("no hold is left", noHold).catch(() => undefined);
}

async function ledgerOf({ admin }: Platform, query: Query): Promise<LedgerState> {
  const { code, output } = await admin(["ledger", "check"]);
  const ledgerState = await readLedger(query);
  return { ...ledgerState, ledgerCheck: code === 0 ? null : output };
}

function tellViolations(violations: Violation[], reported: Violation[]): void {
  const show = (list: Violation[]): void => {
    for (const { rule, fault, what } of list.slice(0, VIOLATIONS_SHOWN)) console.log(`  ${rule} (${fault}) ${what}`);
  };
  if (reported.length > 0) console.log(`${reported.length} refusals and delays that a busy machine explains as well:`);
  show(reported);
  console.log(
    violations.length === 0
      ? "No violation: every answer is in the ledger, to the picodollar."
      : `${violations.length} VIOLATIONS`,
  );
  show(violations);
}
