/** The host's share as the database computes it. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { computeHostShare } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";

const LARGEST = 2n ** 63n - 1n;

let database: TestDatabase;
before(async () => {
  database = await openTestDatabase();
});
after(() => database.close());

async function shares(charges: bigint[]): Promise<bigint[]> {
  const { rows } = await database.pool.query<{ share: bigint }>(
    "select host_share(charge) as share from unnest($1::bigint[]) with ordinality as c (charge, ord) order by ord",
    [charges],
  );
  return rows.map((row) => row.share);
}

test("the host's share is 70% of a charge, rounded down to the picodollar, for every possible amount", async () => {
  assert.deepEqual(await shares([0n, 1n, 10n, 19n, 1_000_003n, LARGEST]), [
    0n,
    0n,
    7n,
    13n,
    700_002n,
    6_456_360_425_798_343_064n,
  ]);
  const amounts = fc.array(fc.bigInt({ min: 0n, max: LARGEST }), { minLength: 100, maxLength: 100 });
  await fc.assert(
    fc.asyncProperty(amounts, async (charges) => {
      assert.deepEqual(await shares(charges), charges.map(computeHostShare));
    }),
    { numRuns: 20 },
  );
});

test("PostgreSQL inlines the function for the host's share, so settling pays for no function call", async () => {
  const { rows } = await database.pool.query({
    text: "explain (verbose) select host_share(charge_pico) from request_other",
    rowMode: "array",
  });
  assert.doesNotMatch(rows.join("\n"), /host_share/);
});
