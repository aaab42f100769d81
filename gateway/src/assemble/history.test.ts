/** Tests that a gateway connected only to an old primary learns about the failover from another gateway. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { seededRandom } from "../base/testing.ts";
import { DatabaseLineage } from "../db/lineage/lineage.ts";
import { openTestDatabase } from "../db/testing.ts";
import { absentPlane } from "../plane/absent-plane.ts";
import type { Plane } from "../plane/plane.ts";
import type { Context } from "./context.ts";
import { exchangeDatabaseTimelines } from "./history.ts";

const log = createLog("silent");
const random = seededRandom(1);
const newId = newIds(systemClock, random);

test("a gateway stops using the old primary once another gateway reports the new timeline", async (t) => {
  const { pool, close } = await openTestDatabase();
  t.after(close);
  const hearing: ((subject: string, payload: Uint8Array) => void)[] = [];
  const plane: Plane = {
    ...absentPlane(),
    publish: (subject, payload) => {
      for (const hear of hearing) hear(subject, payload);
    },
    subscribe: (_, receive) => {
      hearing.push(receive);
      return () => {};
    },
  };
  const stops: (() => unknown)[] = [];
  t.after(() => {
    for (const stop of stops) stop();
  });
  const context: Context = {
    ...{ clock: systemClock, random, newId, log, gatewayId: "test" },
    onClose: (stop) => void stops.push(stop),
  };
  const open = async (): Promise<DatabaseLineage> => {
    const memory = { read: async () => undefined, write: async () => {} };
    const lineage = new DatabaseLineage({ memory, newId, clock: systemClock, log });
    await lineage.begin(pool);
    exchangeDatabaseTimelines(context, lineage, plane);
    return lineage;
  };
  const [moved, left] = [await open(), await open()];
  let cut = 0;
  left.onNewer = () => {
    cut += 1;
  };
  await left.check(pool);
  const { system, epoch, position } = moved.seen ?? { system: "", epoch: "", position: 0 };
  const looked = {
    system,
    timeline: 2,
    epoch,
    position,
    reason: "failover",
    begunFor: 2,
    begunIn: system,
    isDue: false,
  } as const;
  await moved.beat(pool, looked);
  assert.equal(cut, 1);
  await assert.rejects(left.check(pool), /it is an old primary \(timeline 1, and timeline 2 exists\)/);
  hearing[0]?.("tg.h", Buffer.from("not JSON"));
});
