/**
 * Reads from docs/scale.md, for each table of the database, what adds a row, what removes it, and what bounds the
 * table's size.
 */
import { readFileSync } from "node:fs";

interface GrownTable {
  table: string;
  rowFor: string;
  deleted: string;
  bound: string;
}

const HEAD = "| Table | A row for each |";

export function readTableGrowth(): GrownTable[] {
  const page = readFileSync(new URL("../../docs/scale.md", import.meta.url), "utf8");
  const from = page.indexOf(HEAD);
  if (from < 0) throw new Error(`docs/scale.md has no table that begins with ${HEAD}`);
  const lines = page.slice(from).split("\n\n", 1)[0]?.split("\n").slice(2) ?? [];
  return lines.flatMap((line) => {
    const [names = "", rowFor = "", deleted = "", bound = ""] = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    return [...names.matchAll(/`(\w+)`/g)].map(([, table = ""]) => ({ table, rowFor, deleted, bound }));
  });
}
