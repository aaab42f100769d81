/** A short run with a seed of its own each time. `run.ts` runs as long as asked for. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Arena, openArena } from "./arena.ts";
import { tallyTable } from "./campaign.ts";
import { judged, runCampaign } from "./whole-run.ts";

const FRAMES = 10_000;

describe("fuzz of the plane", () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  let arena: Arena;
  before(async () => {
    console.log(`fuzz of the plane: seed ${seed}`);
    arena = await openArena();
  });
  after(() => arena?.close());

  test(`${FRAMES} hostile frames stall nothing, mix nothing and charge nobody for them`, async () => {
    const run = await runCampaign(arena, { frames: FRAMES, seed });
    console.log(tallyTable(run.tally));
    assert.deepEqual(await judged(arena, run), [], `seed ${seed}`);
    assert.ok(run.tally.honest > 0, "honest clients were served meanwhile");
    assert.ok((run.tally.bait.get("200") ?? 0) > 0, "hostile nodes' jobs came to an end, too");
  });
});
