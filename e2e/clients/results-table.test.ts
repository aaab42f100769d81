/** Tests the results table of `npm run clients`: reasons become notes, and the text around the table is kept. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  parseTable,
  type ResultCell,
  type ResultRow,
  readTable,
  renderTable,
  updateResultRows,
  writeTable,
} from "./results-table.ts";

test("the table has one row per client and one note per reason, and lists the clients that were left out", () => {
  const cells = new Map<string, ResultCell>([
    ["chat", "ok"],
    ["stream", { no: "none" }],
    ["401", { failed: "no status" }],
  ]);
  const rows = [
    { name: "a 1", cells },
    { name: "b 2", cells: new Map<string, ResultCell>([["chat", { no: "none" }]]) },
    { name: "c 3", cells: { leftOut: "no Python" } },
  ];
  const expected = [
    "| Client | chat | stream | 401 |",
    "| --- | --- | --- | --- |",
    "| a 1 | ok | no [1] | FAILED [2] |",
    "| b 2 | no [1] | – | – |",
    "| c 3 | left out: no Python |  |  |",
    "",
    "1. none",
    "2. no status",
  ];
  assert.equal(renderTable(rows, ["chat", "stream", "401"]), expected.join("\n"));
  assert.deepEqual(parseTable(expected.join("\n")), rows);
});

test("updating the table keeps rows of clients that did not run, removes retired clients and adds new ones", () => {
  const row = (name: string, cells: Record<string, ResultCell>): ResultRow => ({
    name,
    cells: new Map(Object.entries(cells)),
  });
  const kept = [
    row("a 1", { chat: "ok", stream: { no: "none" }, "401": { failed: "old" } }),
    row("b 2", { chat: { no: "other" } }),
    { name: "c 3", cells: { leftOut: "no Python" } },
    row("gone 4", { chat: "ok" }),
  ];
  const driven = [row("a 1", { chat: { no: "worse" } }), row("c 3", { chat: "ok" }), row("new 5", { chat: "ok" })];
  const names = ["a 1", "new 5", "b 2", "c 3", "never 6"];
  assert.deepEqual(updateResultRows(kept, driven, ["chat", "401"], names), [
    row("a 1", { stream: { no: "none" }, chat: { no: "worse" } }),
    row("new 5", { chat: "ok" }),
    row("b 2", { chat: { no: "other" } }),
    row("c 3", { chat: "ok" }),
  ]);
});

test("the table between a document's markers is replaced, and the rest of the document stays the same", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tollgate-table-"));
  const file = join(folder, "clients.md");
  try {
    const markers = (await readFile(new URL("README.md", import.meta.url), "utf8")).match(/<!-- clients: .* -->/g);
    const [begin, end] = markers ?? [];
    await writeFile(file, `before\n${begin}\nold\n${end}\nafter\n`);
    for (const table of ["first", "second"]) await writeTable(file, table);
    assert.equal(await readFile(file, "utf8"), `before\n${begin}\n\nsecond\n\n${end}\nafter\n`);
    assert.equal(await readTable(file), "second");
    await writeFile(file, "nothing\n");
    await assert.rejects(writeTable(file, "third"), /has no place for the table/);
    assert.equal(await readFile(file, "utf8"), "nothing\n");
  } finally {
    await rm(folder, { recursive: true });
  }
});
