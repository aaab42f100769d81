/** Leases of holds are renewed while their requests run. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { UnreachableError } from "../base/dependency.ts";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { manualClock } from "../base/testing.ts";
import { openHoldLeases } from "./leases.ts";
import { newId } from "./testing.ts";

describe("renewing leases while the database is unreachable", () => {
  test("includes spooled settlements, repeats until it succeeds, and logs an outage once", async (t) => {
    const clock = manualClock();
    const lines: string[] = [];
    const log = createLog("debug", { write: (line) => void lines.push(line) });
    const renewed: Uuid[][] = [];
    let error: Error | undefined;
    const [alive, ended] = [newId(), newId()];
    const leases = openHoldLeases({
      clock,
      log,
      ledger: {
        async renew(ids) {
          if (error !== undefined) throw error;
          renewed.push(ids);
        },
        async expire() {
          if (error !== undefined) throw error;
          return 0;
        },
        unsettled: () => [ended],
      },
    });
    t.after(() => leases.stop());
    leases.keep(alive);
    const pass = async (seconds: number): Promise<void> => {
      for (let i = 0; i < seconds; i++) {
        clock.advance(1_000);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await pass(15);
    assert.deepEqual(renewed, [[alive, ended]]);
    error = new UnreachableError("database", "no answer");
    await pass(100);
    assert.equal(renewed.length, 1);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).level),
      [20, 20],
      "of renewals and of sweeps, at debug: the store tells of its outage itself",
    );
    error = undefined;
    await pass(1);
    assert.equal(renewed.length, 2, "the moment it is back");
    await pass(13);
    assert.ok(renewed.length <= 3, "and then as before");
  });
});
