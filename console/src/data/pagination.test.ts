import assert from "node:assert/strict";
import { test } from "node:test";
import { loadEveryPage } from "./pagination.ts";

const list = (rows: number) => {
  const asked: string[] = [];
  const read = async ({ limit, cursor = "0" }: { limit: number; cursor: string | undefined }) => {
    asked.push(cursor);
    const from = Number(cursor);
    const data = Array.from({ length: Math.min(limit, rows - from) }, (_, i) => from + i);
    return { data, next_cursor: from + limit < rows ? String(from + limit) : null };
  };
  return { asked, read };
};

test("requests each page of a list once, in order", async () => {
  const { asked, read } = list(250);
  const { data, next_cursor } = await loadEveryPage(read);
  assert.deepEqual(
    data,
    Array.from({ length: 250 }, (_, i) => i),
  );
  assert.equal(next_cursor, null);
  assert.deepEqual(asked, ["0", "100", "200"]);
});

test("stops after 1,000 rows", async () => {
  const { asked, read } = list(5000);
  const { data, next_cursor } = await loadEveryPage(read);
  assert.equal(data.length, 1000);
  assert.equal(next_cursor, "1000");
  assert.equal(asked.length, 10);
});
