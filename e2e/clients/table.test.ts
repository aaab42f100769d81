/** The table of `npm run clients`: reasons become notes, and a document keeps what is not the table. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type Cell, render, writeInto } from "./table.ts";

test("one row for a client; equal reasons are one note; what was left out says why", () => {
  const cells = new Map<string, Cell>([
    ["chat", "ok"],
    ["stream", { no: "none" }],
    ["401", { failed: "no status" }],
  ]);
  const rows = [
    { program: "a", version: "1", cells },
    { program: "b", version: "2", cells: new Map<string, Cell>([["chat", { no: "none" }]]) },
    { program: "c", version: "3", cells: { leftOut: "no Python" } },
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
  assert.equal(render(rows, ["chat", "stream", "401"]), expected.join("\n"));
});

test("the table goes between the markers, again and again; a document without them is left alone", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tollgate-table-"));
  const file = join(folder, "clients.md");
  try {
    const markers = (await readFile(new URL("../../docs/clients.md", import.meta.url), "utf8")).match(
      /<!-- clients: .* -->/g,
    );
    const [begin, end] = markers ?? [];
    await writeFile(file, `before\n${begin}\nold\n${end}\nafter\n`);
    for (const table of ["first", "second"]) await writeInto(file, table);
    assert.equal(await readFile(file, "utf8"), `before\n${begin}\n\nsecond\n\n${end}\nafter\n`);
    await writeFile(file, "nothing\n");
    await assert.rejects(writeInto(file, "third"), /has no place for the table/);
    assert.equal(await readFile(file, "utf8"), "nothing\n");
  } finally {
    await rm(folder, { recursive: true });
  }
});
