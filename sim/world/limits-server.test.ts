/**
 * Compares the simulated limits server with the limits in memory, which other tests compare with a real server. Also its outages: commands
 * sent while it hangs are executed when it continues, and its memory is empty after it died.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Chance } from "@tollgate/stage/chance.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { DEFAULT_LIMITS, type Limits, LimitsUnavailable } from "../../gateway/src/limits/limits.ts";
import { LimitCounts, memoryLimits } from "../../gateway/src/limits/memory.ts";
import { valkeyLimits } from "../../gateway/src/limits/valkey.ts";
import { Life, processClock } from "./life.ts";
import { LimitsServer } from "./limits-server.ts";
import { Scheduler } from "./scheduler.ts";

const HISTORIES = 20;
const STEPS = 80;
const TIGHT = { requestsPerMinute: 5, tokensPerMinute: 30, inFlight: 3 };

class Bench {
  readonly scheduler = new Scheduler();
  readonly server = new LimitsServer(this.scheduler, new Chance("ways"));
  readonly life = new Life();
  readonly clock = processClock(this.life, this.scheduler);

  /** Runs the world until the answer is there, and a moment longer. */
  async known<T>(answer: Promise<T>): Promise<T> {
    let isKnown = false;
    const both = answer.finally(() => {
      isKnown = true;
    });
    both.catch(() => {});
    for (let i = 0; !isKnown && i < 10_000; i++) await this.pass(1);
    return await both;
  }

  pass(ms: number): Promise<void> {
    return this.scheduler.until(this.scheduler.nowMs + ms, () => false);
  }

  gateway(): Promise<Limits> {
    const options = { url: "simulated", clock: this.clock, log: createLog("silent") };
    return this.known(valkeyLimits({ ...options, connect: (_url, how) => this.server.client(this.life, how) }));
  }
}

/** Executes one step on every adapter and compares the answers. */
async function step(on: Limits, draw: { what: number; id: string; tokens: number }): Promise<unknown> {
  if (draw.what < 4) {
    const entry = await on.enter("key", draw.id, TIGHT);
    // The time left in the minute depends on the moment of counting, which differs.
    return [
      entry.admitted,
      entry.admitted || entry.code,
      entry.standing.remainingRequests,
      entry.standing.remainingTokens,
    ];
  }
  if (draw.what < 7) return await on.leave("key", draw.id, draw.tokens);
  return draw.what < 9
    ? await on.enterModel("model", draw.id, 2, `account ${Number(draw.id) % 3}`)
    : await on.leaveModel("model", draw.id);
}

describe("the simulated limits server", () => {
  test("decides every history as the memory limits do", async () => {
    const seed = process.env.TEST_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
    for (let i = 0; i < HISTORIES; i++) {
      const chance = new Chance(`${seed} ${i}`);
      const bench = new Bench();
      const board = new LimitCounts();
      const shared = [await bench.gateway(), await bench.gateway()];
      const memory = [memoryLimits({ clock: bench.clock, board }), memoryLimits({ clock: bench.clock, board })];
      for (let at = 0; at < STEPS; at++) {
        const draw = { what: chance.below(11), id: String(chance.below(6)), tokens: chance.below(12) };
        const which = chance.below(2);
        if (draw.what === 10) {
          await bench.pass(chance.pick([999, 7_000, 20_000]));
          continue;
        }
        // The minute must not change between the two.
        if (bench.clock.now() % 60_000 > 59_900) await bench.pass(200);
        const expected = await step(memory[which] as Limits, draw);
        const found = await bench.known(step(shared[which] as Limits, draw));
        assert.deepEqual(found, expected, `TEST_SEED=${seed}, history ${i}, step ${at}`);
      }
    }
  });

  test("replies to no one while it hangs, and has executed what it received when it continues", async () => {
    const bench = new Bench();
    const [one, other] = [await bench.gateway(), await bench.gateway()];
    bench.server.hang();
    const single = { ...DEFAULT_LIMITS, inFlight: 1 };
    await assert.rejects(bench.known(one.enter("key", "a", single)), (error) => {
      assert.ok(error instanceof LimitsUnavailable && error.maybeDone);
      return true;
    });
    assert.equal(one.health.isAway, true);
    bench.server.comeBack();
    // The slot was taken although the answer was lost; the caller releases it.
    await bench.pass(5_000);
    assert.equal((await bench.known(other.enter("key", "b", single))).admitted, true);
    assert.equal(one.health.isAway, false);
  });

  test("forgets everything when it dies, and receives the requests in flight again", async () => {
    const bench = new Bench();
    const limits = await bench.gateway();
    const single = { ...DEFAULT_LIMITS, inFlight: 1 };
    assert.equal((await bench.known(limits.enter("key", "a", single))).admitted, true);
    bench.server.die();
    await assert.rejects(bench.known(limits.enter("key", "b", single)), LimitsUnavailable);
    bench.server.comeBack();
    await bench.pass(5_000);
    const entry = await bench.known(limits.enter("key", "b", single));
    assert.equal(entry.admitted || entry.code, "rate_limit_streams");
  });
});
