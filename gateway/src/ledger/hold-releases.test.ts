/** Releasing holds: retried until the database has released the hold, also if it is unknown whether the hold exists. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { manualClock, waitOneTurn } from "../base/testing.ts";
import { openHoldReleases } from "./hold-releases.ts";

const ID = "a hold" as Uuid;
const [SECOND_MS, LEASE_MS] = [1_000, 60_000];

/** `there`: the number of the try, from 1, that finds the hold. */
function open(there: number) {
  const clock = manualClock();
  let looks = 0;
  const release = async (): Promise<boolean> => ++looks === there;
  const releases = openHoldReleases({ clock, log: createLog("silent"), holdLeaseMs: LEASE_MS, release });
  const after = async (ms: number): Promise<number> => {
    await waitOneTurn();
    clock.advance(ms);
    await waitOneTurn();
    return looks;
  };
  return { releases, after };
}

test("the gateway tries to release a hold with an unknown outcome at once, after 1 s, and after a quarter of its lease", async () => {
  const { releases, after } = open(0);
  releases.doubtful(ID);
  assert.equal(await after(0), 1);
  assert.equal(await after(SECOND_MS - 1), 1);
  assert.equal(await after(1), 2);
  assert.equal(await after(LEASE_MS / 4 - 1), 2);
  assert.equal(await after(1), 3);
  assert.equal(await after(LEASE_MS), 3, "what is left ends with its lease");
});

test("the gateway stops trying to release a hold with an unknown outcome once an attempt has released it", async () => {
  const { releases, after } = open(2);
  releases.doubtful(ID);
  assert.equal(await after(SECOND_MS), 2);
  assert.equal(await after(LEASE_MS), 2);
});
