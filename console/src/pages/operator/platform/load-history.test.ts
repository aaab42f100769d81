import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlatformLoad } from "../../../api/answer-types.ts";
import { addSample, type LoadSample } from "./load-history.ts";

const load = (inFlight: number): PlatformLoad => ({
  in_flight: inFlight,
  held_micro: "0.000000",
  nodes: {},
  slots: 0,
  busy: 0,
  capacity: [],
});

test("keeps only the latest 90 samples", () => {
  let samples: LoadSample[] = [];
  for (let i = 0; i < 200; i++) samples = addSample(samples, load(i), i);
  assert.equal(samples.length, 90);
  assert.deepEqual(samples.at(-1), { atMs: 199, inFlight: 199 });
  assert.equal(samples[0]?.inFlight, 110);
});
