/** `tollgate admin ledger check`: the proof as a table, or as JSON. */
import { checkLedger } from "../../ledger/check.ts";
import { type Column, table } from "../line/columns.ts";
import type { AdminRun } from "./admin-run.ts";

const COLUMNS: Column<Awaited<ReturnType<typeof checkLedger>>[number]>[] = [
  { title: "CHECK", cell: ({ name }) => name },
  { title: "CHECKED", align: "right", cell: ({ checked }) => String(checked) },
  { title: "RESULT", cell: ({ differences }) => (differences.length === 0 ? "ok" : "DIFFERS") },
];

export async function ledgerCheck({ pool, json, print }: AdminRun): Promise<number> {
  const results = await checkLedger(pool);
  const balanced = results.every(({ differences }) => differences.length === 0);
  if (json) {
    const checks = results.map(({ name, checked, differences }) => ({ name, checked: Number(checked), differences }));
    print(JSON.stringify({ balanced, checks }, null, 2));
  } else {
    print(table(COLUMNS, results));
    for (const { name, differences } of results) {
      if (differences.length > 0) print(`\n${name}: DIFFERS`);
      for (const line of differences) print(`    ${line}`);
    }
    print(balanced ? "\nThe books balance." : "\nTHE BOOKS DO NOT BALANCE.");
  }
  return balanced ? 0 : 1;
}
