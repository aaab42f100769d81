/** Checks that docs/scale.md contains the computed tables, and describes every table of the database. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { openTestDatabase } from "../../gateway/src/db/testing.ts";
import { renderScaleTables } from "./scale-tables.ts";
import { readTableGrowth } from "./table-growth.ts";

test("docs/scale.md contains the tables that `npm run bench -- scale` prints", () => {
  const page = readFileSync(new URL("../../docs/scale.md", import.meta.url), "utf8");
  for (const { title, text } of renderScaleTables()) assert.ok(page.includes(text), `${title}, as it is now:\n${text}`);
});

test("docs/scale.md describes for every table of the database why it grows and what bounds it", async () => {
  const database = await openTestDatabase();
  try {
    const { rows } = await database.pool.query(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
        order by relname`,
    );
    const listed = readTableGrowth().map(({ table }) => table);
    assert.deepEqual(
      listed.toSorted(),
      rows.map(({ name }) => name),
    );
  } finally {
    await database.close();
  }
});

test("docs/scale.md has no empty cell in the table about growth", () => {
  for (const { table, ...cells } of readTableGrowth())
    for (const [name, text] of Object.entries(cells)) assert.ok(text.length > 2, `${table}: ${name}`);
});
