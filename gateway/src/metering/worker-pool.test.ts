import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it, type TestContext } from "node:test";
import { Worker } from "node:worker_threads";
import { PoolBusyError, PoolClosedError, type PoolOptions, WorkerPool } from "./worker-pool.ts";

/**
 * A worker that doubles numbers. On "die" it exits, on "die once" it exits the first time, and on "throw" it throws.
 */
const SCRIPT = `
  const { parentPort, workerData } = require("node:worker_threads");
  parentPort.on("message", (message) => {
    if (message === "die" || (message === "die once" && workerData.generation === 1)) process.exit(1);
    if (message === "throw") return parentPort.postMessage({ error: "no" });
    if (message === "wait") return;
    parentPort.postMessage({ result: message === "die once" ? "survived" : message * 2 });
  });
`;

function open(t: TestContext, options: Partial<PoolOptions> = {}): { pool: WorkerPool<unknown>; seen: PoolLog } {
  const seen: PoolLog = { started: 0, crashes: 0, workers: [] };
  const pool = new WorkerPool<unknown>({
    startWorker: () => {
      const worker = new Worker(SCRIPT, { eval: true, workerData: { generation: ++seen.started } });
      seen.workers.push(worker);
      return worker;
    },
    workersMax: 2,
    waitingMax: 4,
    waitingUnitsMax: 100,
    onCrash: () => seen.crashes++,
    ...options,
  });
  t.after(() => pool.close());
  return { pool, seen };
}

interface PoolLog {
  started: number;
  crashes: number;
  workers: Worker[];
}

describe("the pool of counting threads", () => {
  it("answers every job with at most the allowed number of threads", async (t) => {
    const { pool, seen } = open(t, { waitingMax: 100 });
    const results = await Promise.all(Array.from({ length: 50 }, (_, i) => pool.run(i, { units: 1 })));
    assert.deepEqual(
      results,
      Array.from({ length: 50 }, (_, i) => i * 2),
    );
    assert.equal(seen.started, 2);
  });

  it("starts threads only when they are needed", (t) => {
    assert.equal(open(t).seen.started, 0);
  });

  it("passes the job of a crashed thread to a new thread", async (t) => {
    const { pool, seen } = open(t, { workersMax: 1 });
    const jobs = [pool.run("die once", { units: 1 }), pool.run(21, { units: 1 })];
    assert.deepEqual(await Promise.all(jobs), ["survived", 42]);
    assert.deepEqual([seen.started, seen.crashes], [2, 1]);
  });

  it("fails a job that crashed two threads, and continues with other jobs", async (t) => {
    const { pool, seen } = open(t, { workersMax: 1 });
    await assert.rejects(pool.run("die", { units: 1 }), /crashed twice/);
    assert.equal(await pool.run(4, { units: 1 }), 8);
    assert.equal(seen.crashes, 2);
  });

  it("fails a job that throws, and keeps the thread", async (t) => {
    const { pool, seen } = open(t, { workersMax: 1 });
    await assert.rejects(pool.run("throw", { units: 1 }), /worker thread failed: no/);
    assert.equal(await pool.run(4, { units: 1 }), 8);
    assert.equal(seen.crashes, 0);
  });

  it("refuses jobs beyond the queue's limits of number and size", async (t) => {
    const { pool } = open(t, { workersMax: 1, waitingMax: 2 });
    const held = pool.run("wait", { units: 1 });
    const waiting = [pool.run("wait", { units: 10 }), pool.run("wait", { units: 10 })];
    await assert.rejects(pool.run(1, { units: 1 }), PoolBusyError);
    const ends = Promise.allSettled([held, ...waiting]);
    await pool.close();
    for (const end of await ends) assert.ok(end.status === "rejected" && end.reason instanceof PoolClosedError);
    await assert.rejects(pool.run(1, { units: 1 }), PoolClosedError);

    const heavy = open(t, { workersMax: 1 }).pool;
    heavy.run("wait", { units: 1 }).catch(() => {});
    heavy.run("wait", { units: 99 }).catch(() => {});
    await assert.rejects(heavy.run(1, { units: 2 }), PoolBusyError);
  });

  it("alternates between accounts, so that a busy account delays only its own jobs", async (t) => {
    const { pool } = open(t, { workersMax: 1, waitingMax: 100 });
    const done: string[] = [];
    const run = async (lane: string, number: number): Promise<void> => {
      await pool.run(number, { units: 1, lane });
      done.push(`${lane}${number}`);
    };
    await Promise.all([run("a", 1), run("a", 2), run("a", 3), run("a", 4), run("b", 1), run("c", 1), run("b", 2)]);
    assert.deepEqual(done, ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
  });

  it("ends its threads when it is closed", async (t) => {
    const { pool, seen } = open(t);
    await pool.run(1, { units: 1 });
    const exits = seen.workers.map((worker) => once(worker, "exit"));
    await pool.close();
    await Promise.all(exits);
  });
});
