import assert from "node:assert/strict";
import { test } from "node:test";
import { type PdfDocument, writePdf } from "./pdf.ts";

const document: PdfDocument = {
  title: "Invoice (2026-10)",
  facts: [["Account", "Café \\ 東京"]],
  tables: [
    {
      title: "Usage",
      columns: [
        { title: "Model", width: 2 },
        { title: "Amount", width: 1, right: true },
      ],
      rows: [["tiny-3b", "$1.000000"]],
      total: ["Total", "$1.000000"],
      empty: "Nothing",
    },
    { title: "Transfers", columns: [], rows: [], empty: "No transfers" },
  ],
  notes: ["A note"],
};

/** The text of all pages, in the order in which it is drawn. */
const shown = (file: string): string[] => [...file.matchAll(/\(((?:\\.|[^\\)])*)\) Tj/g)].map(([, text = ""]) => text);

/** Finds the file's objects as a PDF reader does, by the table at the end. */
function objectsOf(file: string): string[] {
  const begin = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(file)?.[1]);
  assert.ok(file.slice(begin).startsWith("xref\n"));
  const places = [...file.slice(begin).matchAll(/^(\d{10}) 00000 n $/gm)].map(([, place]) => Number(place));
  return places.map((place, index) => {
    const object = file.slice(place);
    assert.ok(object.startsWith(`${index + 1} 0 obj\n`), `object ${index + 1} is where the table says`);
    return object.slice(0, object.indexOf("\nendobj"));
  });
}

test("a PDF document contains its title, facts, tables and notes, with question marks for characters that the font lacks", () => {
  const file = writePdf(document);
  assert.match(file, /^%PDF-1\.4\n[\x20-\x7e\n]*$/);
  assert.deepEqual(shown(file), [
    "Invoice \\(2026-10\\)",
    "Account",
    "Caf\\351 \\\\ ??",
    ...["Usage", "Model", "Amount", "tiny-3b", "$1.000000", "Total", "$1.000000"],
    ...["Transfers", "No transfers", "A note", "Page 1 of 1"],
  ]);
  for (const object of objectsOf(file)) {
    const stream = /\/Length (\d+) >>\nstream\n([\s\S]*)\nendstream$/.exec(object);
    if (stream !== null) assert.equal(stream[2]?.length, Number(stream[1]));
  }
});

test("a PDF document aligns amounts of any length at their right end", () => {
  const table = {
    ...document.tables[0],
    rows: [
      ["a", "$1.00"],
      ["b", "$1,111.00"],
    ],
  } as PdfDocument["tables"][0];
  const file = writePdf({ ...document, tables: [table] });
  const ends = ["$1.00", "$1,111.00"].map((text) => {
    const x = Number(new RegExp(` (\\S+) \\S+ Td \\(${text.replace("$", "\\$")}\\)`).exec(file)?.[1]);
    const width = [...text].reduce((sum, letter) => sum + (/[.,]/.test(letter) ? 278 : 556), 0);
    return Math.round(x + (width * 9) / 1000);
  });
  assert.equal(ends[0], ends[1]);
});

test("a PDF document continues a long table on further pages with repeated headings, and cuts cells that are too wide", () => {
  const rows = Array.from({ length: 120 }, (_, index) => [`model ${index} ${"x".repeat(200)}`, "$1"]);
  const file = writePdf({ ...document, tables: [{ ...document.tables[0], rows } as PdfDocument["tables"][0]] });
  const pages = Number(/\/Count (\d+)/.exec(file)?.[1]);
  assert.ok(pages >= 3);
  assert.equal(shown(file).filter((text) => text === "Model").length, pages);
  assert.equal(shown(file).at(-1), `Page ${pages} of ${pages}`);
  assert.ok(shown(file).every((text) => text.length < 90));
  assert.equal(shown(file).filter((text) => text.startsWith("model ")).length, 120);
  for (const [, y] of file.matchAll(/ (\S+) Td/g)) assert.ok(Number(y) >= 50);
  objectsOf(file);
});
