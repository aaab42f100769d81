/** A short fuzzing run with a new seed each time. `run.ts` makes longer runs. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { formatPlaneTally } from "./plane-fuzz-campaign.ts";
import { openPlaneFuzzPlatform, type PlaneFuzzPlatform } from "./plane-fuzz-platform.ts";
import { findViolations, runCampaign } from "./run-with-checks.ts";

const FRAMES = 10_000;

describe("the dispatch plane under hostile frames from nodes", () => {
  const seed = Number(process.env["TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  let fuzzed: PlaneFuzzPlatform;
  before(async () => {
    console.log(`fuzz of the plane: seed ${seed}`);
    fuzzed = await openPlaneFuzzPlatform();
  });
  after(() => fuzzed?.close());

  test(`${FRAMES} hostile frames never mix answers of different requests and charge no one wrongly`, async () => {
    const run = await runCampaign(fuzzed, { frames: FRAMES, seed });
    console.log(formatPlaneTally(run.tally));
    assert.deepEqual(await findViolations(fuzzed, run), [], `seed ${seed}`);
    assert.ok(run.tally.honest > 0, "honest clients were served meanwhile");
    assert.ok((run.tally.bait.get("200") ?? 0) > 0, "hostile nodes' jobs came to an end, too");
  });
});
