import assert from "node:assert/strict";
import { test } from "node:test";
import { openTestDatabase } from "../db/testing.ts";
import { newId } from "../ledger/testing.ts";
import { openNodePresence } from "./node-presence.ts";

test("presence counts each node and slot once per sample, whichever gateway samples", async (t) => {
  const { pool, close } = await openTestDatabase();
  t.after(close);
  // Two gateways on one database.
  const [here, there] = [openNodePresence({ pool, everyMs: 60_000 }), openNodePresence({ pool, everyMs: 60_000 })];
  const [a, b] = [newId(), newId()];
  const at = (minute: number, second: number): Date => new Date(Date.UTC(2026, 5, 15, 12, minute, second));
  await Promise.all([
    here.sample([{ id: a, slots: 4, busy: 1 }], at(0, 10)),
    there.sample([{ id: a, slots: 4, busy: 1 }], at(0, 11)),
  ]);
  await there.sample(
    [
      { id: a, slots: 4, busy: 4 },
      { id: b, slots: 2, busy: 0 },
    ],
    at(1, 10),
  );
  await here.sample(
    [
      { id: a, slots: 4, busy: 0 },
      { id: b, slots: 2, busy: 0 },
    ],
    at(1, 10),
  );
  await here.sample([], at(2, 10));
  await here.sample([{ id: b, slots: 2, busy: 2 }], at(59, 10));

  const span = { from: at(0, 0), to: at(60, 0) };
  const first = { slot: at(0, 0), samplesTaken: 3 };
  assert.deepEqual(await here.sums({ grain: "5min", ...span }, [a]), [
    { ...first, nodeId: a, samples: 2, nodes: 1, slots: 4, busy: 2.5 },
  ]);
  const [hour, none] = await here.sums({ grain: "hour", ...span });
  assert.deepEqual(
    [hour?.samples, hour?.slots, hour?.busy, none],
    [4, (4 + 6 + 0 + 2) / 4, (1 + 4 + 0 + 2) / 4, undefined],
  );
  assert.equal((await here.sums({ grain: "day", from: at(-12 * 60, 0), to: at(60, 0) }, [a, b])).length, 2);
  await here.forget();
  assert.deepEqual(await here.sums({ grain: "5min", from: new Date(0), to: span.to }), []);
});
