import assert from "node:assert/strict";
import { test } from "node:test";
import {
  initialSlotLimits,
  lowerLimitsAfterTokenGap,
  raiseLimitsWhileNoGapIsWide,
  resizeLimits,
  type SlotLimits,
} from "./slot-limits.ts";

const NOW = 100_000;
const state = (more: Partial<SlotLimits>): SlotLimits => ({
  readers: 8,
  isNew: false,
  slots: 64,
  readersSince: 0,
  slotsSince: 0,
  loweredAt: 0,
  ...more,
});

test("a long gap between tokens halves the limit of prompts read in parallel, and a longer gap reduces the slots", () => {
  const table: [what: string, gap: { ms: number; reading: number; running?: number }, before: object, after: object][] =
    [
      ["a narrow gap", { ms: 499, reading: 8 }, {}, { readers: 8, slots: 64, readersSince: 0 }],
      [
        "neither narrow nor wide",
        { ms: 699, reading: 8 },
        {},
        { readers: 8, slots: 64, readersSince: NOW, slotsSince: NOW },
      ],
      ["a wide gap", { ms: 700, reading: 8 }, {}, { readers: 4, slots: 64, readersSince: NOW, loweredAt: NOW }],
      ["fewer were read than might be", { ms: 700, reading: 3 }, { readers: 20 }, { readers: 1, slots: 64 }],
      ["one prompt alone was read", { ms: 999, reading: 1 }, { readers: 20 }, { readers: 20, slots: 64 }],
      ["one prompt alone, a very wide gap", { ms: 1_000, reading: 1 }, { readers: 20 }, { readers: 20, slots: 48 }],
      ["no prompt", { ms: 1_000, reading: 0 }, {}, { readers: 8, slots: 48 }],
      ["fewer ran than might", { ms: 1_500, reading: 0, running: 48 }, {}, { slots: 36 }],
      ["few ran: half at most", { ms: 1_500, reading: 0, running: 10 }, {}, { slots: 32 }],
      ["a job alone", { ms: 1_500, reading: 0, running: 1 }, {}, { slots: 64, slotsSince: NOW }],
      ["two jobs of two", { ms: 1_500, reading: 0, running: 2 }, { slots: 2 }, { slots: 1 }],
      ["the first gap that is not narrow", { ms: 600, reading: 4 }, { isNew: true }, { readers: 8, isNew: true }],
      ["the first wide gap", { ms: 700, reading: 8 }, { isNew: true }, { readers: 4, isNew: false }],
      ["readers are at their least", { ms: 1_500, reading: 2 }, { readers: 1 }, { readers: 1, slots: 48 }],
      ["readers first, slots later", { ms: 1_900, reading: 8 }, {}, { readers: 4, slots: 64 }],
      [
        "the same pause, seen by another job",
        { ms: 900, reading: 8 },
        { loweredAt: NOW - 699 },
        { readers: 8, slots: 64 },
      ],
      ["a pause that goes on", { ms: 1_400, reading: 8 }, { loweredAt: NOW - 700 }, { readers: 4 }],
      ["nothing is left to take", { ms: 9_000, reading: 0, running: 1 }, { slots: 1 }, { slots: 1 }],
    ];
  for (const [what, { ms, reading, running = 64 }, before, after] of table)
    assert.partialDeepStrictEqual(
      lowerLimitsAfterTokenGap(state(before), { ms, running, reading, now: NOW }),
      after,
      what,
    );
});

test("short gaps between tokens raise the limits gradually while prompts wait or all slots are in use", () => {
  const table: [what: string, calm: object, before: object, after: object][] = [
    ["a prompt waits", { waits: true }, {}, { readers: 10, readersSince: NOW }],
    ["a prompt waits, and no gap was wide yet", { waits: true }, { isNew: true }, { readers: 16, isNew: true }],
    ["a prompt waits, of few", { waits: true }, { readers: 1 }, { readers: 2 }],
    ["no prompt waits", {}, {}, { readers: 8 }],
    ["a gap lately", { waits: true }, { readersSince: NOW - 999 }, { readers: 8 }],
    ["as many as there are slots", { waits: true }, { readers: 60 }, { readers: 64 }],
    ["every slot is in use", { full: true }, { slots: 32 }, { slots: 40, slotsSince: NOW }],
    ["every slot is in use, of few", { full: true }, { slots: 1 }, { slots: 2 }],
    ["a slot is free", {}, { slots: 32 }, { slots: 32 }],
    ["fewer slots lately", { full: true }, { slots: 32, slotsSince: NOW - 4_999 }, { slots: 32 }],
    ["up to what the engine takes", { full: true }, { slots: 63 }, { slots: 64 }],
    ["nothing to give back", { full: true, waits: true }, { readers: 64 }, { readers: 64, slots: 64, slotsSince: 0 }],
  ];
  for (const [what, calm, before, after] of table) {
    const given = { slotsMax: 64, waits: false, full: false, now: NOW, ...calm };
    assert.partialDeepStrictEqual(raiseLimitsWhileNoGapIsWide(state(before), given), after, what);
  }
});

test("keeps the learned limits when the engine's own number of slots changes", () => {
  const table: [before: number, slotsMax: number, had: object, has: object][] = [
    [64, 128, { slots: 64 }, { slots: 128, readers: 8 }],
    [64, 128, { slots: 20 }, { slots: 20 }],
    [64, 16, { slots: 20 }, { slots: 16 }],
    [64, 4, { slots: 64 }, { slots: 4, readers: 4 }],
  ];
  for (const [before, slotsMax, had, has] of table)
    assert.partialDeepStrictEqual(resizeLimits(state(had), before, slotsMax), has);
  assert.partialDeepStrictEqual(initialSlotLimits(64, 0), { readers: 16, slots: 64 });
  assert.partialDeepStrictEqual(initialSlotLimits(2, 0), { readers: 2, slots: 2 });
});
