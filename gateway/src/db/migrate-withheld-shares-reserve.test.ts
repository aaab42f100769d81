/**
 * The migration that adds the reserve, on a database with earlier charges: no balance changes, and granted credit is
 * tracked from then on.
 */

import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { timeoutFreeClock } from "../base/testing.ts";
import { checkLedger } from "../ledger/check.ts";
import { openLedger } from "../ledger/ledger.ts";
import { createTestHold, createTestSettlement } from "../ledger/testing.ts";
import { migrate } from "./migrate.ts";
import { readFunctions } from "./sql-functions.ts";
import { makeSqlDirectoryUpTo, SQL_SOURCE_DIRECTORY } from "./testing/sql-directory.ts";
import { openTestDatabase } from "./testing.ts";

const newId = newIds(systemClock, systemRandom());

test("migrating from schema 0038 keeps balances and entries, and sets granted credit to the unspent part of grants", async (t) => {
  // Uses the functions of schema 0038, which gateways still call while the last migrations are applied.
  const directory = await makeSqlDirectoryUpTo(t, "0038");
  for (const { name, since } of await readFunctions(join(SQL_SOURCE_DIRECTORY, "functions")))
    if (since <= 38) await copyFile(join(SQL_SOURCE_DIRECTORY, "functions", name), join(directory, "functions", name));
  const { pool, close } = await openTestDatabase({ sql: directory });
  t.after(close);
  const ledger = openLedger({
    pool,
    clock: timeoutFreeClock,
    gatewayId: "g",
    schema: { reached: (number) => (number <= 38 ? Promise.resolve() : new Promise(() => {})) },
  });
  const account = async (kind: "builder" | "host"): Promise<Uuid> => {
    const id = newId();
    await pool.query("insert into ledger_account (id, kind) values ($1, $2)", [id, kind]);
    return id;
  };
  const moved = (kind: "grant" | "purchase" | "dispute", accountId: Uuid, amount: bigint): Promise<unknown> =>
    ledger.transfer({ id: newId(), kind, accountId, amount: pico(amount), reason: "test" });
  const host = await account("host");
  const owner = newId();
  await pool.query("insert into identity (id, email, name) values ($1, 'a@example.test', 'A')", [owner]);
  const [rich, mixed, owing] = [await account("builder"), await account("builder"), await account("builder")];
  // The builder account `mixed` has the same owner as the host. The migration must not deduct anything from the shares
  // that the host earned with this builder's requests.
  for (const [id, kind] of [
    [host, "host"],
    [mixed, "builder"],
  ]) {
    await pool.query("insert into account (id, kind, name) values ($1, $2, 'an account')", [id, kind]);
    await pool.query("insert into account_owner (identity_id, account_id) values ($1, $2)", [owner, id]);
  }
  await moved("grant", rich, 500n);
  await moved("purchase", rich, 1_000n);
  await moved("grant", mixed, 1_000n);
  await moved("grant", owing, 100n);
  await moved("dispute", owing, 300n);
  for (const [id, charge] of [
    [rich, 10n],
    [mixed, 400n],
  ] as const) {
    const hold = createTestHold(id, charge);
    await ledger.hold(hold);
    await ledger.settle({ ...createTestSettlement(hold, host), charge: pico(charge) });
  }
  const books = async (): Promise<unknown[]> => {
    const { rows: balances } = await pool.query(
      "select id, kind, balance, held from ledger_book where kind <> 'reserve' order by id",
    );
    const { rows: entries } = await pool.query("select * from ledger_entry order by operation, account_id, kind");
    return [balances, entries];
  };
  const before = await books();

  await migrate(pool, { directory: SQL_SOURCE_DIRECTORY, log: createLog("silent") });

  assert.deepEqual(await books(), before);
  const { rows } = await pool.query("select id, granted from ledger_account where kind = 'builder'");
  const granted = new Map(rows.map((row) => [row.id, row.granted]));
  assert.deepEqual(
    [rich, mixed, owing].map((id) => granted.get(id)),
    [500n, 600n, 0n],
  );
  const wrong = (await checkLedger(pool)).filter(({ name }) => !name.startsWith("every charge is its token counts"));
  assert.deepEqual(
    wrong.flatMap(({ differences }) => differences),
    [],
  );
});
