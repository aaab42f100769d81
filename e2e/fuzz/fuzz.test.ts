/** A short run with a seed of its own each time. `run.ts` runs as long as asked for. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { campaign, emptyTally, tallyTable } from "./campaign.ts";
import { assertUnharmed, type FuzzPlatform, openFuzzPlatform } from "./fuzz-platform.ts";

const REQUESTS = 3_000;
const CONCURRENCY = 16;

describe("fuzz", () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  let fuzzed: FuzzPlatform;
  before(async () => {
    console.log(`fuzz: seed ${seed}`);
    fuzzed = await openFuzzPlatform();
  });
  after(() => fuzzed?.close());

  test(`${REQUESTS} hostile requests are answered as they should be, and leave no trace`, async () => {
    const tally = emptyTally();
    const run = { target: fuzzed.target, seed, from: 0, to: REQUESTS, concurrency: CONCURRENCY };
    await campaign({ ...run, onFinding: ({ text }) => console.log(text), onProgress: () => {} }, tally);
    console.log(tallyTable(tally));
    assert.equal(tally.findings.length, 0, `seed ${seed}: ${tally.findings.map(({ index }) => index)}`);
    assert.equal(tally.requests, REQUESTS);
    assert.ok(tally.served > REQUESTS / 10, `only ${tally.served} were served`);
    await assertUnharmed(fuzzed.platform, tally.served);
  });
});
