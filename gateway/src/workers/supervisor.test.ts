import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { DrainTimes } from "../assemble/drain.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock, waitOneTurn } from "../base/testing.ts";
import { openSupervisor, type Supervisor, type WorkerExit, type WorkerProcess } from "./supervisor.ts";

interface FakeProcess extends WorkerProcess {
  number: number;
  hasUpkeep: boolean;
  serve(): Promise<void>;
  end(how?: Partial<WorkerExit>): Promise<void>;
  /** The drain times with which the worker was stopped. */
  stopped: DrainTimes | undefined;
  isKilled: boolean;
  answers: boolean;
}

const DRAIN = { delayMs: 5_000, graceMs: 30_000 };
const log = createLog("silent");

describe("the supervisor", () => {
  let clock: ManualClock;
  let forked: FakeProcess[];
  let supervisor: Supervisor;
  const numbers = (): number[] => forked.map(({ number }) => number);
  const at = (index: number): FakeProcess => forked[index] as FakeProcess;

  const fork = ({ number, hasUpkeep }: { number: number; hasUpkeep: boolean }): WorkerProcess => {
    const serving = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<WorkerExit>();
    const process: FakeProcess = {
      number,
      hasUpkeep,
      pid: forked.length + 1,
      serving: serving.promise,
      ended: ended.promise,
      answers: true,
      stopped: undefined,
      isKilled: false,
      alive: () => (process.answers ? Promise.resolve() : new Promise(() => {})),
      stop: (times) => {
        process.stopped = times;
      },
      kill: () => {
        process.isKilled = true;
        ended.resolve({ code: null, signal: "SIGKILL" });
      },
      serve: () => {
        serving.resolve();
        return waitOneTurn();
      },
      end: (how) => {
        ended.resolve({ code: 0, signal: null, ...how });
        return waitOneTurn();
      },
    };
    forked.push(process);
    return process;
  };
  /** Advances the clock in small steps, so that workers can answer in between. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 5_000) {
      clock.advance(Math.min(left, 5_000));
      await waitOneTurn();
    }
  };
  const died = { code: null, signal: "SIGKILL" };
  const started = async (count: number): Promise<void> => {
    supervisor = openSupervisor({ count, drain: DRAIN, clock, log, fork });
    const start = supervisor.start();
    for (const process of forked) await process.serve();
    assert.equal(await start, undefined);
  };

  beforeEach(() => {
    clock = manualClock();
    forked = [];
  });

  test("starts numbered workers, one of which runs the background jobs", async () => {
    await started(3);
    assert.deepEqual(
      forked.map(({ number, hasUpkeep }) => [number, hasUpkeep]),
      [
        [1, true],
        [2, false],
        [3, false],
      ],
    );
  });

  test("stops if a worker ends while no worker is ready yet", async () => {
    supervisor = openSupervisor({ count: 2, drain: DRAIN, clock, log, fork });
    const start = supervisor.start();
    await at(1).end({ code: 3 });
    assert.deepEqual(await start, { code: 3, signal: null });
    await pass(60_000);
    assert.equal(forked.length, 2);
  });

  test("replaces a worker that died with one that has its number and its background jobs", async () => {
    await started(2);
    await at(0).end(died);
    assert.equal(supervisor.deaths, 1);
    clock.advance(499);
    assert.equal(forked.length, 2);
    clock.advance(1);
    assert.deepEqual([numbers(), at(2).hasUpkeep], [[1, 2, 1], true]);
  });

  test("doubles the wait for each further replacement, up to 30 s, until no worker ends for a minute", async () => {
    await started(1);
    const pauses: number[] = [];
    for (let death = 0; death < 9; death++) {
      await at(death).end(died);
      let pauseMs = 0;
      while (forked.length === death + 1) {
        clock.advance(500);
        pauseMs += 500;
      }
      pauses.push(pauseMs);
      await at(death + 1).serve();
    }
    assert.deepEqual(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    await pass(60_001);
    await at(9).end(died);
    clock.advance(500);
    assert.equal(forked.length, 11);
  });

  test("replaces all workers one by one, ending each once its replacement serves", async () => {
    await started(2);
    const replaced = supervisor.replaceAll();
    assert.deepEqual(numbers(), [1, 2, 3]);
    assert.equal(at(0).stopped, undefined, "its replacement does not serve yet");
    await at(2).serve();
    assert.deepEqual(at(0).stopped, { delayMs: 1_000, graceMs: 30_000 });
    assert.equal(at(2).hasUpkeep, true);
    assert.equal(forked.length, 3, "the second waits until the first is gone");
    await at(0).end();
    assert.deepEqual(numbers(), [1, 2, 3, 1]);
    await at(3).serve();
    await at(1).end();
    assert.equal(await replaced, true);
    assert.deepEqual([supervisor.deaths, supervisor.workers().length], [0, 2]);
  });

  test("keeps the current workers if a replacement does not start", async () => {
    await started(2);
    const replaced = supervisor.replaceAll();
    await at(2).end({ code: 1 });
    assert.equal(await replaced, false);
    await pass(60_000);
    await waitOneTurn();
    assert.deepEqual([forked.length, at(0).stopped, supervisor.workers().length], [3, undefined, 2]);
  });

  test("stops all workers at once, and kills a worker that does not stop in time", async () => {
    await started(2);
    const stopped = supervisor.stop();
    assert.deepEqual([at(0).stopped, at(1).stopped], [DRAIN, DRAIN]);
    await at(0).end();
    await pass(49_999);
    assert.equal(at(1).isKilled, false);
    clock.advance(1);
    assert.equal(at(1).isKilled, true);
    await stopped;
    await pass(60_000);
    assert.equal(forked.length, 2);
  });

  test("does not replace a worker that dies just before all are stopped", async () => {
    await started(2);
    await at(0).end(died);
    const stopped = supervisor.stop();
    await at(1).end();
    await stopped;
    await pass(60_000);
    assert.equal(forked.length, 2);
  });

  test("kills and replaces a worker that misses six health checks", async () => {
    await started(2);
    at(1).answers = false;
    for (let look = 0; look < 6; look++) {
      clock.advance(5_000);
      await waitOneTurn();
    }
    assert.equal(at(1).isKilled, false);
    clock.advance(5_000);
    await waitOneTurn();
    assert.deepEqual([at(0).isKilled, at(1).isKilled], [false, true]);
    clock.advance(500);
    assert.deepEqual(numbers(), [1, 2, 2]);
  });
});
