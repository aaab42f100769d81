/**
 * A gateway with two worker processes: workers are replaced and killed under load, and the primary process is killed
 * too.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { makeScriptPrompt, sendUserMessage, waitForFirstOutput } from "@tollgate/stage/builder-requests.ts";
import { assertBalanced } from "@tollgate/stage/ledger-check.ts";
import { sendSteadyRequest as askPath, CHAT_REQUEST, startSteadyLoad } from "@tollgate/stage/load/steady-load.ts";
import { STEADY_LOAD_MODELS } from "@tollgate/stage/load-balanced-stage.ts";
import {
  type BuilderAccount,
  NO_QUARANTINE_OR_PROBATION_ENV,
  openStage,
  type ProcessStage,
} from "@tollgate/stage/stage.ts";
import { eventually } from "@tollgate/stage/wait.ts";

const WORKERS = 2;
const STREAMS = 8;
/** A stream long enough to be running at the kill. */
const LONG = makeScriptPrompt({ tokens: 200, delta_ms: 50 });

describe("a gateway with two workers", () => {
  let stage: ProcessStage;
  let builder: BuilderAccount;

  before(async () => {
    stage = await openStage({
      as: "processes",
      env: {
        WORKERS: String(WORKERS),
        // Short, because the test waits until the holds expire.
        HOLD_LEASE_S: "6",
        // Ten minutes, so that requests wait instead of failing while the machine is busy.
        DISPATCH_DEADLINE_MS: "600000",
        ...NO_QUARANTINE_OR_PROBATION_ENV,
      },
    });
    builder = await stage.builder();
    await stage.node({ models: STEADY_LOAD_MODELS });
    await allServe();
    await eventually("it serves", async () => (await askPath(stage.baseUrl, builder.key, CHAT_REQUEST)).status === 200);
  });
  after(() => stage?.close());

  const log = (): Promise<string> => readFile(stage.gateway.logFile, "utf8");
  const allServe = () =>
    eventually("all workers serve", async () =>
      (await stage.metrics()).includes(`tollgate_workers{state="serving"} ${WORKERS}\n`),
    );
  /**
   * Returns the process IDs of the primary's children. All are workers, because node and database have other parents
   * here.
   */
  const workerPids = async (): Promise<number[]> => {
    const children = await readFile(`/proc/${stage.pid}/task/${stage.pid}/children`, "utf8");
    return children.trim().split(" ").filter(Boolean).map(Number);
  };
  const isThere = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };
  /** Opens streams, each on a connection of its own. Returns how each of them ends. */
  const openStreams = async (): Promise<{ end: Promise<"whole" | "broken"> }[]> =>
    await Promise.all(
      Array.from({ length: STREAMS }, async () => {
        const response = await sendUserMessage(stage, builder.key, {
          model: "tiny-3b",
          prompt: LONG,
          stream: true,
          max_tokens: 5_000,
        });
        const rest = await waitForFirstOutput(response);
        const end = rest().then(
          (text) => (text.endsWith("data: [DONE]\n\n") && !text.includes('"error"') ? "whole" : "broken"),
          () => "broken" as const,
        );
        return { end };
      }),
    );

  test("SIGHUP makes the primary replace every worker under load, and no request fails", async () => {
    const before = await workerPids();
    assert.equal(before.length, WORKERS);
    const load = await startSteadyLoad({ query: stage.query, baseUrl: stage.baseUrl, key: builder.key });
    await load.more(20);
    process.kill(stage.pid, "SIGHUP");
    await eventually("all are replaced", async () => (await log()).includes("all workers were replaced"));
    await load.more(20);
    await load.endsWell();
    const now = await workerPids();
    assert.equal(now.length, WORKERS);
    assert.deepEqual(
      now.filter((pid) => before.includes(pid)),
      [],
    );
    assert.match(await stage.metrics(), /^tollgate_worker_deaths_total 0$/m);
  });

  test("a killed worker breaks off only its own streams, and is replaced", async () => {
    const streams = await openStreams();
    process.kill((await workerPids())[0] as number, "SIGKILL");
    const ends = await Promise.all(streams.map(({ end }) => end));
    const broken = ends.filter((end) => end === "broken").length;
    assert.ok(broken > 0 && broken < STREAMS, `${broken} of ${STREAMS} streams broke`);
    await allServe();
    assert.match(await stage.metrics(), /^tollgate_worker_deaths_total 1$/m);
    await stage.noHolds();
    const lost = await stage.query<{ charge_pico: string }>(
      "select charge_pico from request where outcome = 'gateway_lost'",
    );
    assert.deepEqual(
      lost.map(({ charge_pico }) => charge_pico),
      Array.from({ length: broken }, () => "0"),
    );
    await assertBalanced(stage);
  });

  test("worker processes end when their primary process is killed, and the next start serves and has nothing left to settle", async () => {
    const streams = await openStreams();
    const workers = await workerPids();
    await stage.gateway.kill();
    await Promise.all(streams.map(({ end }) => end));
    await eventually("the workers are gone", () => !workers.some(isThere));
    stage.gateways.clear();
    const next = await stage.addGateway();
    await eventually("it serves", async () => (await fetch(`${next.baseUrl}/v1/catalog/rates`)).status === 200);
    await stage.noHolds();
    await assertBalanced(stage);
  });
});
