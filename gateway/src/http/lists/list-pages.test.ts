import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PageFields, TimeRangeFields } from "@tollgate/api/list-query-fields.ts";
import fc from "fast-check";
import { z } from "zod";
import { listPage } from "./list-pages.ts";
import { openPageCursors } from "./page-cursors.ts";

const cursors = openPageCursors({ current: "a secret of the platform" });
const invalid = (error: unknown): boolean => (error as { code?: string }).code === "invalid_cursor";

describe("cursors", () => {
  test("are accepted by the list that issued them, and by no other list", () => {
    const cursor = cursors.write("requests acc_1", "0190");
    assert.equal(cursors.read("requests acc_1", cursor), "0190");
    assert.throws(() => cursors.read("requests acc_2", cursor), invalid);
    assert.throws(() => openPageCursors({ current: "another secret" }).read("requests acc_1", cursor), invalid);
  });

  test("are accepted with both secrets while the secret is being replaced", () => {
    const [first, second] = ["the first", "the second"];
    const [behind, ahead] = [
      openPageCursors({ current: first, next: second }),
      openPageCursors({ current: second, old: first }),
    ];
    for (const cursor of [behind.write("l", "0190"), ahead.write("l", "0190")]) {
      for (const reader of [behind, ahead]) assert.equal(reader.read("l", cursor), "0190");
    }
    assert.throws(() => openPageCursors({ current: second }).read("l", behind.write("l", "0190")), invalid);
  });

  test("are refused if a character was changed or added", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        assert.throws(() => cursors.read("l", text), invalid);
      }),
    );
    const genuine = cursors.write("l", "0190");
    for (const more of ["A", "=", "!", " ", "\n"]) {
      assert.throws(() => cursors.read("l", genuine + more), invalid, JSON.stringify(more));
    }
    const bytes = Buffer.from(genuine, "base64url");
    for (let i = 0; i < bytes.length; i++) {
      const bent = Buffer.from(bytes);
      bent[i] = (bent[i] as number) ^ 1;
      assert.throws(() => cursors.read("l", bent.toString("base64url")), invalid);
    }
  });
});

describe("the pages of a list", () => {
  const rows = Array.from({ length: 7 }, (_, i) => ({ id: String(9 - i) }));
  const read = (cursor: string | undefined, limit: number) =>
    listPage({
      cursors,
      list: "l",
      query: { cursor, limit },
      read: async (before, max) => rows.filter(({ id }) => before === undefined || id < before).slice(0, max),
      position: ({ id }) => id,
      show: ({ id }) => ({ id }),
    });

  test("reach the end of the list without a gap or a repetition", async () => {
    const seen: unknown[] = [];
    let cursor: string | undefined;
    do {
      const { data, next_cursor } = await read(cursor, 3);
      seen.push(...data);
      cursor = next_cursor ?? undefined;
    } while (cursor !== undefined);
    assert.deepEqual(seen, rows);
  });

  test("have no next cursor when they contain the last row", async () => {
    assert.equal((await read(undefined, 7)).next_cursor, null);
  });

  test("refuse invalid fields by name", () => {
    const Query = z.object({ ...PageFields, ...TimeRangeFields });
    const ok = (fields: object): boolean => Query.safeParse(fields).success;
    assert.equal(Query.parse({}).limit, 50);
    assert.deepEqual(
      ["0", "101", "-1", "1.5", "ten", ""].map((limit) => ok({ limit })),
      Array(6).fill(false),
    );
    assert.deepEqual(
      ["1", "100"].map((limit) => ok({ limit })),
      [true, true],
    );
    assert.equal(Query.parse({ from: "2026-11-15" }).from?.toISOString(), "2026-11-15T00:00:00.000Z");
    assert.equal(Query.parse({ from: "2026-11-15T06:30:00+02:00" }).from?.toISOString(), "2026-11-15T04:30:00.000Z");
    assert.equal(Query.parse({ to: "1763188200" }).to?.getTime(), 1763188200000);
    for (const from of ["1969-12-31", "0000-01-01", "0"]) assert.equal(Query.parse({ from }).from?.getTime(), 0, from);
    for (const from of ["yesterday", "2026-13-01", "2026-02-30", "2026-02-30T10:00:00Z", "2026-11-15T06:30", ""])
      assert.ok(!ok({ from }), from);
  });
});
