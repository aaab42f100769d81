/**
 * A whole platform for fuzzing, with more credit and higher limits than any run needs, and the checks after a run.
 * plane/plane-fuzz-platform.ts uses it too. The database is private, because its log is checked.
 */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { NodeTraits } from "@tollgate/stage/base-stage.ts";
import { sendUserMessage } from "@tollgate/stage/builder-requests.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { NO_QUARANTINE_OR_PROBATION_ENV, openStage, type ProcessStage } from "@tollgate/stage/stage.ts";
import { failIfHung } from "@tollgate/stage/wait.ts";
import type { FuzzTarget } from "./fuzz-target.ts";

/** Every model of the catalogue. */
const SERVED = ["tiny-3b", "small-8b", "small-7b-alt", "mid-14b", "reason-32b", "embed-m3"];
const SLOTS = 64;
const CREDIT_PICO = 1_000n * 10n ** 12n;
/** The number of the level "error" in pino's logs. */
const ERROR = 50;

export interface FuzzPlatform {
  stage: ProcessStage;
  target: FuzzTarget;
  close(): Promise<void>;
}

export async function openFuzzPlatform(
  nodes: NodeTraits[] = [{ models: SERVED, slots: SLOTS }],
  env: Record<string, string> = {},
): Promise<FuzzPlatform> {
  const stage = await openStage({
    as: "processes",
    store: "private",
    nodes,
    env: { ...NO_QUARANTINE_OR_PROBATION_ENV, ...env },
  });
  const { key } = await stage.builder(CREDIT_PICO);
  return {
    stage,
    target: { port: Number(new URL(stage.baseUrl).port), key },
    close: () => failIfHung("the platform stops when it is asked to", stage.close()),
  };
}

/**
 * Checks after any run that no hold is left, that the ledger balances, and that every process still runs. Throws on the
 * first violation.
 */
export async function assertLedgerAndProcessesIntact(stage: ProcessStage): Promise<void> {
  await stage.noHolds();
  await assertBalanced(stage);
  for (const process of [stage.gateway, ...stage.nodes]) assert.ok(process.running(), `${process.name} lives on`);
}

/**
 * Checks after a run of requests that every answered one is recorded, that the platform still serves, and that no log
 * contains an error.
 */
export async function assertPlatformUnharmed(stage: ProcessStage, served: number): Promise<void> {
  await assertLedgerAndProcessesIntact(stage);
  await assertRecorded(stage, served);
  await assertServes(stage);
  await assertQuietLogs(stage);
}

/** Checks that every answer has a record, and that all records are of answers or of clients that disconnected. */
async function assertRecorded(stage: ProcessStage, served: number): Promise<void> {
  const rows = await stage.query<{ outcome: string; count: string }>(
    "select outcome, count(*) from request group by 1 order by 1",
  );
  const outcomes = new Map(rows.map(({ outcome, count }) => [outcome, Number(count)]));
  const odd = [...outcomes.keys()].filter((outcome) => outcome !== "ok" && outcome !== "client_closed");
  assert.deepEqual(odd, [], "nothing ended but well, or with a client that left");
  const ok = outcomes.get("ok") ?? 0;
  assert.ok(ok >= served, `${served} answers, and ${ok} on record`);
}

async function assertServes(stage: ProcessStage): Promise<void> {
  const { key } = await stage.builder();
  const response = await sendUserMessage(stage, key, { model: "tiny-3b", prompt: "Are you well?", max_tokens: 5 });
  assert.equal(response.status, 200, await response.text());
}

async function assertQuietLogs({ dataDir, gateway }: ProcessStage): Promise<void> {
  const log = await gateway.log();
  const errors = log
    .split("\n")
    // Lines that are not JSON are messages of Node.js about its inspector.
    .filter((line) => line.startsWith("{") && (JSON.parse(line) as { level: number }).level >= ERROR);
  assert.deepEqual(errors.slice(0, 3), [], `the gateway logged ${errors.length} errors`);
  for (const file of globSync("postgres/**/*.log", { cwd: dataDir })) {
    const lines = (await readFile(join(dataDir, file), "utf8")).split("\n");
    const bad = lines.filter((line) => /\b(ERROR|FATAL|PANIC):/.test(line));
    assert.deepEqual(bad.slice(0, 3), [], `the database logged ${bad.length} errors`);
  }
}
