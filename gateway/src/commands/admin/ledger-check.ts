/** `tollgate admin ledger check`: the proof as a table, or as JSON. */
import { systemClock } from "../../base/clock.ts";
import { openBooks, type Verdict } from "../../operators/books.ts";
import { type Column, table } from "../line/columns.ts";
import { type AdminRun, SHELL_OPERATOR } from "./admin-run.ts";

const COLUMNS: Column<Verdict["checks"][number]>[] = [
  { title: "CHECK", cell: ({ name }) => name },
  { title: "CHECKED", align: "right", cell: ({ checked }) => String(checked) },
  { title: "RESULT", cell: ({ differences }) => (differences.length === 0 ? "ok" : "DIFFERS") },
];

export async function ledgerCheck({ pool, newId, json, print }: AdminRun): Promise<number> {
  const { balanced, checks } = await openBooks({ pool, clock: systemClock, newId }).prove(SHELL_OPERATOR);
  if (json) {
    print(JSON.stringify({ balanced, checks }, null, 2));
  } else {
    print(table(COLUMNS, checks));
    for (const { name, differences } of checks) {
      if (differences.length > 0) print(`\n${name}: DIFFERS`);
      for (const line of differences) print(`    ${line}`);
    }
    print(balanced ? "\nThe books balance." : "\nTHE BOOKS DO NOT BALANCE.");
  }
  return balanced ? 0 : 1;
}
