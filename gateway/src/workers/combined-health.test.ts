/** The readiness of a gateway with several workers, which share one port. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { type ManualClock, manualClock, waitOneTurn } from "../base/testing.ts";
import { createStartupHealth } from "../http/health.ts";
import type { Readiness } from "../http/server.ts";
import { openCombinedHealth } from "./combined-health.ts";
import type { Worker, WorkerProcess } from "./supervisor.ts";

const UP = { database: "up", limits: "up", plane: "up" } as const;
const READY: Readiness = { status: "ready", dependencies: UP };
const AWAY: Readiness = {
  status: "not ready",
  dependencies: { ...UP, database: "away" },
  reasons: { database: "no response" },
};

describe("the readiness of a gateway with workers", () => {
  let clock: ManualClock;
  let workers: Worker[];
  let isStopping: boolean;
  /** The answer of each worker, by number. A worker without one hangs. */
  let answers: Map<number, Readiness>;
  beforeEach(() => {
    clock = manualClock();
    workers = [];
    isStopping = false;
    answers = new Map();
  });

  const add = (state: Worker["state"], answer?: Readiness): Worker => {
    const number = workers.length + 1;
    const worker = { number, state, hasUpkeep: number === 1, process: {} as WorkerProcess };
    workers.push(worker);
    if (answer !== undefined) answers.set(number, answer);
    return worker;
  };
  const readiness = async (meanwhile: () => void = () => {}): Promise<Readiness> => {
    const health = openCombinedHealth({
      supervisor: {
        workers: () => [...workers],
        deaths: 0,
        get isStopping() {
          return isStopping;
        },
      },
      channelOf: (number) => ({
        ask: async () => {
          const answer = answers.get(number) ?? (await new Promise<never>(() => {}));
          return { number: 1, text: JSON.stringify(answer), bytes: Buffer.alloc(0) };
        },
      }),
      count: 2,
      clock,
    });
    const ready = health.ready();
    await waitOneTurn();
    meanwhile();
    clock.advance(800);
    return await ready;
  };

  test("is ready if every serving worker is ready", async () => {
    add("serving", READY);
    add("serving", READY);
    assert.deepEqual(await readiness(), READY);
  });

  test("is not ready if one serving worker is not ready, because the port also leads to that worker", async () => {
    add("serving", READY);
    add("serving", AWAY);
    assert.deepEqual(await readiness(), AWAY);
  });

  test("is not ready if a serving worker does not answer within 800 ms", async () => {
    add("serving", READY);
    add("serving");
    assert.deepEqual(await readiness(), {
      status: "not ready",
      dependencies: UP,
      reasons: { "worker 2": "it has not answered for 800 ms" },
    });
  });

  test("ignores workers that start, are replaced or have just died, because the port does not lead to them", async () => {
    add("serving", READY);
    add("starting", AWAY);
    add("stopping", { ...READY, status: "draining" });
    const dying = add("serving");
    assert.deepEqual(await readiness(() => workers.splice(workers.indexOf(dying), 1)), READY);
  });

  test("names every dependency while all workers start", async () => {
    add(
      "starting",
      await createStartupHealth(
        () => undefined,
        () => [],
      ).ready(),
    );
    add(
      "starting",
      await createStartupHealth(
        () => ({ name: "database", reason: "no response" }),
        () => [],
      ).ready(),
    );
    assert.deepEqual(await readiness(), {
      status: "not ready",
      dependencies: { database: "away", limits: "unknown", plane: "unknown" },
      reasons: { gateway: "it is starting", database: "no response" },
    });
  });

  test("is not ready while no worker runs", async () => {
    assert.deepEqual(await readiness(), {
      status: "not ready",
      dependencies: {},
      reasons: { gateway: "no worker process runs yet" },
    });
  });

  test("is draining as soon as the gateway begins to stop, whatever its workers answer", async () => {
    add("serving", READY);
    add("stopping", { ...READY, status: "draining" });
    isStopping = true;
    assert.deepEqual(await readiness(), { status: "draining", dependencies: UP });
    for (const worker of workers) worker.state = "stopping";
    assert.deepEqual(await readiness(), { status: "draining", dependencies: UP });
  });
});
