/**
 * Measures payments that wait for the same row. Each payment for a spot check locks the row of the reserve, the only
 * row of the platform's own accounts that payments still share. Compares how many such payments one database makes in a
 * second with transfers to separate accounts.
 */
import type pg from "pg";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { newIds } from "../../gateway/src/base/ids.ts";
import { systemRandom } from "../../gateway/src/base/random.ts";
import { openAccounts } from "../ledger/hold-settle-pairs.ts";

const newId = newIds(systemClock, systemRandom());
const AMOUNT = "1000";
/** The balance of the reserve: enough for every payment of a run. */
const RESERVE = "1000000000000000";

export async function measureReserveContention(pool: pg.Pool, seconds: number): Promise<void> {
  const hosts = await openAccounts(pool, "host", 100);
  await pool.query("update ledger_reserve set balance = $1", [RESERVE]);
  const statements = {
    "payments out of the reserve": "select ledger_pay_check($1, $2, $3)",
    "grants to accounts of their own": "select ledger_transfer($1, 'grant', $2, $3, 'bench')",
  };
  console.log("\n| one row for all, or none | at once | a second |\n|---|---|---|");
  for (const [what, text] of Object.entries(statements)) {
    for (const concurrent of [1, pool.options.max ?? 1]) {
      let done = 0;
      const until = performance.now() + seconds * 1000;
      const worker = async (nth: number): Promise<void> => {
        for (let n = nth; performance.now() < until; n += concurrent, done++)
          await pool.query(text, [newId(), hosts[n % hosts.length], AMOUNT]);
      };
      await Promise.all(Array.from({ length: concurrent }, (_, nth) => worker(nth)));
      console.log(`| ${what} | ${concurrent} | ${(done / seconds).toFixed(0)} |`);
    }
  }
}
