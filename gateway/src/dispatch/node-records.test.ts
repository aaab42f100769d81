import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import { Roster } from "./roster.ts";
import { FakeNode, MemoryPlane } from "./testing.ts";

describe("node records", () => {
  let clock: ManualClock;
  let plane: MemoryPlane;
  let roster: Roster;
  let reads: number;
  let away: boolean;
  let allowed: boolean;
  let lines: string[];

  beforeEach(() => {
    [clock, plane] = [manualClock(), new MemoryPlane()];
    [reads, away, allowed, lines] = [0, false, true, []];
    const log = createLog("info", { write: (line: string) => void lines.push(line) });
    const nodeRecord = async (id: string) => {
      reads += 1;
      if (away) throw new Error("the database is away");
      return allowed ? { nodeId: id as Uuid, hostAccountId: "h" as Uuid, models: ["m"] } : undefined;
    };
    roster = new Roster({ plane, clock, random: seededRandom(1), log, nodeRecord });
  });
  const report = async (id: string): Promise<void> => {
    new FakeNode(plane, { id, gatewayId: "gw1" }).report({ models: ["m"], slots: 1 });
    await waitOneTurn();
  };
  const passMinutes = async (minutes: number, ...ids: string[]): Promise<void> => {
    for (let second = 0; second < minutes * 60; second++) {
      clock.advance(1_000);
      for (const id of ids) await report(id);
    }
  };

  test("stay valid for connected nodes while the database is unreachable; other nodes are refused, logged once a minute", async () => {
    await report("a");
    away = true;
    await passMinutes(3, "a", "new");
    assert.deepEqual(
      roster.nodes().map(({ id }) => id),
      ["a"],
    );
    assert.ok(lines.length <= 10, `${lines.length} lines`);
    away = false;
    allowed = false;
    await passMinutes(1, "a");
    assert.deepEqual(roster.nodes(), [], "what they say when they are back holds");
  });

  test("that change while the database is unreachable are read again 2 s after the failed read, not with every report", async () => {
    await report("a");
    [away, allowed] = [true, false];
    await roster.review("a");
    assert.equal(roster.nodes().length, 1);
    const before = reads;
    await report("a");
    assert.equal(reads, before, "not with every state");
    away = false;
    clock.advance(2_000);
    await report("a");
    assert.equal(roster.nodes().length, 0);
  });

  test("remove a disconnected node's slots from the remembered capacity as soon as the record bars the node from work", async () => {
    await report("a");
    plane.drop("a");
    assert.equal(roster.slots("m"), 1);
    allowed = false;
    await roster.review("a");
    assert.equal(roster.slots("m"), 0);
  });
});
