/** `tollgate admin ledger check`: the proof as a table, or as JSON. */
import { checkLedger } from "../../ledger/check.ts";
import type { AdminRun } from "./admin-run.ts";

export async function ledgerCheck({ pool, json, print }: AdminRun): Promise<number> {
  const results = await checkLedger(pool);
  const balanced = results.every(({ differences }) => differences.length === 0);
  if (json) {
    const checks = results.map(({ name, checked, differences }) => ({ name, checked: Number(checked), differences }));
    print(JSON.stringify({ balanced, checks }, null, 2));
  } else {
    const width = Math.max(...results.map(({ name }) => name.length));
    for (const { name, checked, differences } of results) {
      const verdict = differences.length === 0 ? "ok" : "DIFFERS";
      print(`${name.padEnd(width)}  ${String(checked).padStart(10)}  ${verdict}`);
      for (const line of differences) print(`    ${line}`);
    }
    print(balanced ? "\nThe books balance." : "\nTHE BOOKS DO NOT BALANCE.");
  }
  return balanced ? 0 : 1;
}
