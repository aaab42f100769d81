/**
 * Compares the simulated limits server with the in-memory limits, which other tests compare with a real server. Outages
 * are like those of a real one: after a hang the server carries out the commands that it received, and when it dies it
 * loses its memory.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { LimitCounts, openMemoryLimits } from "../../gateway/src/limits/in-memory-limits.ts";
import { DEFAULT_KEY_LIMITS, type Limits, LimitsUnavailable } from "../../gateway/src/limits/limits.ts";
import { openValkeyLimits } from "../../gateway/src/limits/valkey-limits.ts";
import { LimitsServer } from "./limits-server.ts";
import { createProcessClock, ProcessLifetime } from "./process-lifetime.ts";
import { Scheduler } from "./scheduler.ts";

const HISTORIES = 20;
const STEPS = 80;
const TIGHT = { requestsPerMinute: 5, tokensPerMinute: 30, inFlight: 3 };

class Bench {
  readonly scheduler = new Scheduler();
  readonly server = new LimitsServer(this.scheduler, new SeededRandom("ways"));
  readonly life = new ProcessLifetime();
  readonly clock = createProcessClock(this.life, this.scheduler);

  /** Advances time until the answer arrives, and a moment longer for effects that no caller awaits. */
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
    return this.known(openValkeyLimits({ ...options, connect: (_url, how) => this.server.client(this.life, how) }));
  }
}

/** Carries out one random step on an adapter of the limits and returns its answer, if it has one. */
async function step(on: Limits, draw: { what: number; id: string; tokens: number }): Promise<unknown> {
  if (draw.what < 4) {
    const entry = await on.enter("key", draw.id, TIGHT);
    // The time left in a minute is not compared: it depends on the moment of counting, which differs between the two
    // adapters.
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
  test("makes the same decisions as the in-memory limits for random histories", async () => {
    const seed = process.env.TEST_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
    for (let i = 0; i < HISTORIES; i++) {
      const chance = new SeededRandom(`${seed} ${i}`);
      const bench = new Bench();
      const board = new LimitCounts();
      const shared = [await bench.gateway(), await bench.gateway()];
      const memory = [openMemoryLimits({ clock: bench.clock, board }), openMemoryLimits({ clock: bench.clock, board })];
      for (let at = 0; at < STEPS; at++) {
        const draw = { what: chance.below(11), id: String(chance.below(6)), tokens: chance.below(12) };
        const which = chance.below(2);
        if (draw.what === 10) {
          await bench.pass(chance.pick([999, 7_000, 20_000]));
          continue;
        }
        // Moves on to the next minute if the current one could end between the two steps.
        if (bench.clock.now() % 60_000 > 59_900) await bench.pass(200);
        const expected = await step(memory[which] as Limits, draw);
        const found = await bench.known(step(shared[which] as Limits, draw));
        assert.deepEqual(found, expected, `TEST_SEED=${seed}, history ${i}, step ${at}`);
      }
    }
  });

  test("answers nothing while it hangs, and executes the received commands when it continues", async () => {
    const bench = new Bench();
    const [one, other] = [await bench.gateway(), await bench.gateway()];
    bench.server.hang();
    const single = { ...DEFAULT_KEY_LIMITS, inFlight: 1 };
    await assert.rejects(bench.known(one.enter("key", "a", single)), (error) => {
      assert.ok(error instanceof LimitsUnavailable && error.maybeDone);
      return true;
    });
    assert.equal(one.health.isAway, true);
    bench.server.comeBack();
    // After the hang, the server executed the command and occupied the slot. The first gateway, which got no answer,
    // releases the slot again.
    await bench.pass(5_000);
    assert.equal((await bench.known(other.enter("key", "b", single))).admitted, true);
    assert.equal(one.health.isAway, false);
  });

  test("loses its counts when it dies, and gateways report their requests in flight again", async () => {
    const bench = new Bench();
    const limits = await bench.gateway();
    const single = { ...DEFAULT_KEY_LIMITS, inFlight: 1 };
    assert.equal((await bench.known(limits.enter("key", "a", single))).admitted, true);
    bench.server.die();
    await assert.rejects(bench.known(limits.enter("key", "b", single)), LimitsUnavailable);
    bench.server.comeBack();
    await bench.pass(5_000);
    const entry = await bench.known(limits.enter("key", "b", single));
    assert.equal(entry.admitted || entry.code, "rate_limit_streams");
  });
});
