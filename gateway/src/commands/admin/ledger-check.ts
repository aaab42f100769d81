/** `tollgate admin ledger check`: runs the ledger check and prints it as a table or JSON. */

import { type Column, formatTable } from "@tollgate/terminal/table-format.ts";
import { type LedgerCheckResult, openLedgerChecks } from "../../operators/ledger-checks.ts";
import { type AdminRun, COMMAND_LINE_ACTOR } from "./admin-run.ts";

const COLUMNS: Column<LedgerCheckResult["checks"][number]>[] = [
  { title: "CHECK", cell: ({ name }) => name },
  { title: "CHECKED", align: "right", cell: ({ checked }) => String(checked) },
  {
    title: "RESULT",
    cell: ({ differences }) => (differences.length === 0 ? "ok" : "DIFFERS"),
    colour: ({ differences }, paint) => (differences.length === 0 ? paint.good : paint.bad),
  },
];

export async function runLedgerCheck({ pool, newId, clock, json, print, terminal }: AdminRun): Promise<number> {
  terminal.progress.step("checking the ledger");
  const { balanced, checks } = await openLedgerChecks({ pool, clock, newId }).prove(COMMAND_LINE_ACTOR);
  if (json) {
    print(JSON.stringify({ balanced, checks }, null, 2));
  } else {
    print(formatTable(COLUMNS, checks, terminal));
    for (const { name, differences } of checks) {
      if (differences.length > 0) print(`\n${name}: DIFFERS`);
      for (const line of differences) print(`    ${line}`);
    }
    print(balanced ? "\nThe ledger balances." : "\nTHE LEDGER DOES NOT BALANCE.");
  }
  return balanced ? 0 : 1;
}
