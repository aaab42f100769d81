import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { systemClock } from "./clock.ts";
import { creationTimeMsOf, makeBase62, newIds, parseId, publicId, publicIdSuffix, type Uuid } from "./ids.ts";
import { systemRandom } from "./random.ts";

const newId = newIds(systemClock, systemRandom());

describe("IDs", () => {
  test("are UUIDv7, and sort by creation time both as UUID text and as the suffix of a public ID", () => {
    let now = 1_700_000_000_000;
    const ids = newIds({ ...systemClock, now: () => now }, systemRandom());
    const made = Array.from({ length: 50 }, () => {
      now += 1;
      return ids();
    });
    assert.deepEqual([...made].sort(), made);
    assert.deepEqual(made.map(publicIdSuffix).sort(), made.map(publicIdSuffix));
    assert.equal(creationTimeMsOf(made[0] as Uuid), 1_700_000_000_001);
    assert.match(made[0] as string, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test("of one millisecond sort in order of creation", () => {
    for (let round = 0; round < 20; round++) {
      const ids = newIds({ ...systemClock, now: () => 1_700_000_000_000 }, systemRandom());
      const made = Array.from({ length: 2_000 }, ids);
      assert.deepEqual([...made].sort(), made);
    }
  });

  test("are written as a prefix and 26 Crockford characters, and parsed back", () => {
    for (let i = 0; i < 200; i++) {
      const id = newId();
      const shown = publicId("req", id);
      assert.match(shown, /^req_[0-9a-hjkmnp-tv-z]{26}$/);
      assert.equal(parseId("req", shown), id);
    }
  });

  test("are refused by the parser if the text has any other form", () => {
    const good = publicId("req", newId());
    for (const bad of [
      "",
      "req_",
      good.slice(0, -1),
      `${good}0`,
      good.toUpperCase(),
      good.replace("req", "key"),
      "req_zzzzzzzzzzzzzzzzzzzzzzzzzz",
    ]) {
      assert.equal(parseId("req", bad), undefined, bad);
    }
    fc.assert(
      fc.property(fc.string(), (text) => {
        const id = parseId("req", text);
        if (id !== undefined) assert.equal(publicId("req", id), text);
      }),
    );
  });

  test("use the whole alphabet evenly, as secrets do", () => {
    const drawn = makeBase62(systemRandom(), 5000);
    assert.match(drawn, /^[0-9A-Za-z]{5000}$/);
    assert.equal(new Set(drawn).size, 62);
  });
});
