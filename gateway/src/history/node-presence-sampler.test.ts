import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../base/log.ts";
import { manualClock } from "../base/testing.ts";
import { openTestDatabase } from "../db/testing.ts";
import { newId } from "../ledger/testing.ts";
import { type NodeSample, openNodePresence } from "./node-presence.ts";
import { startNodePresenceSampler } from "./node-presence-sampler.ts";

const EVERY_MS = 60_000;

test("node samples count once per time slot for several gateways, and a gateway that sees no nodes skips its sample", async (t) => {
  const { pool, close } = await openTestDatabase();
  t.after(close);
  const seen: NodeSample[] = [
    { id: newId(), slots: 4, busy: 1 },
    { id: newId(), slots: 2, busy: 2 },
  ];
  let sees = true;
  const gateways = [true, false].map((isFirst) => {
    const clock = manualClock();
    const presence = openNodePresence({ pool, everyMs: EVERY_MS });
    // Both gateways sample at the same time of the database's clock.
    const at = new Date("2026-11-15T06:30:20Z");
    const look = () => (isFirst && !sees ? undefined : seen);
    const sampled = { ...presence, sample: (nodes: NodeSample[]) => presence.sample(nodes, at) };
    return {
      clock,
      stop: startNodePresenceSampler({ presence: sampled, everyMs: EVERY_MS, look, clock, log: createLog("silent") }),
    };
  });
  for (const { clock } of gateways) clock.advance(EVERY_MS);
  sees = false;
  for (const { clock } of gateways) clock.advance(EVERY_MS);
  await Promise.all(gateways.map(({ stop }) => stop()));
  const span = { grain: "hour", from: new Date("2026-11-15T06:00:00Z"), to: new Date("2026-11-15T07:00:00Z") } as const;
  const [sum] = await openNodePresence({ pool, everyMs: EVERY_MS }).sums(span);
  assert.deepEqual(
    [sum?.samples, sum?.nodes, sum?.slots, sum?.busy],
    [1, 2, 6, 3],
    "one sample of two nodes, however many looked",
  );
  // No further samples arrive after sampling has stopped.
  for (const { clock } of gateways) clock.advance(10 * EVERY_MS);
});
