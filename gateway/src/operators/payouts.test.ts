/** Tests that a payout batch pays and sets off only amounts that are old enough and in no other batch. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openAccounts } from "../accounts/accounts.ts";
import { systemClock } from "../base/clock.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { dollars, pico, ZERO } from "../base/money.ts";
import { systemRandom } from "../base/random.ts";
import { timeoutFreeClock } from "../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../db/testing.ts";
import { checkLedger } from "../ledger/check.ts";
import { type Ledger, openLedger } from "../ledger/ledger.ts";
import { openPayoutBatches } from "./payouts.ts";

const newId = newIds(systemClock, systemRandom());
const ORDER = { note: "", by: "o@example.com", minimum: pico(1n) };

let db: TestDatabase;
let ledger: Ledger;
before(async () => {
  db = await openTestDatabase();
  ledger = openLedger({ pool: db.pool, clock: timeoutFreeClock, gatewayId: "test" });
});
after(() => db.close());

const open = (kind: "builder" | "host"): Promise<Uuid> =>
  openAccounts({ pool: db.pool, newId }).open(kind, `a ${kind}`);
const move = (kind: "grant" | "refund", accountId: Uuid, amount: bigint) =>
  ledger.transfer({ id: newId(), kind, accountId, amount: pico(amount), reason: "test" });
const balance = async (id: Uuid) => (await ledger.balance(id))?.balance;

test("earnings are held back until their whole hour is older than the hold-back period", async () => {
  const client = await db.pool.connect();
  try {
    // Within one transaction now() is constant, so no new hour can begin between writing and reading.
    await client.query("begin");
    const heldBack = async (days: number, hour: string): Promise<unknown> => {
      const host = newId();
      await client.query(
        `insert into earning_hour (host_account_id, hour, node_id, model, requests, prompt_tokens, completion_tokens, host_pico, own_pico)
         values ($1, ${hour}, $1, 'tiny-3b', 1, 1, 1, 700, 0)`,
        [host],
      );
      return (await client.query("select payout_held_back($1, $2) as pico", [host, days])).rows[0].pico;
    };
    for (const days of [1, 7]) {
      const oldest = `date_trunc('hour', now() - interval '${days * 24} hours')`;
      assert.equal(await heldBack(days, oldest), 700n, "some of the hour is younger");
      assert.equal(await heldBack(days, `${oldest} - interval '1 hour'`), 0n, "all of the hour is older");
    }
    assert.equal(await heldBack(0, "date_trunc('hour', now())"), 0n, "without a hold-back");
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("an amount in an open batch is not set off against the owner's debt", async () => {
  const payouts = openPayoutBatches({ pool: db.pool, newId, holdDays: 0 });
  const [host, builder, owner] = [await open("host"), await open("builder"), newId()];
  await db.pool.query("insert into identity (id, email, name) values ($1, 'ada@example.com', 'Ada')", [owner]);
  for (const account of [host, builder])
    await db.pool.query("insert into account_owner (identity_id, account_id) values ($1, $2)", [owner, account]);
  await move("grant", host, dollars(10));
  const promised = await payouts.create(ORDER);
  assert.equal(promised?.total, dollars(10));
  await move("refund", builder, dollars(4));
  assert.equal(await payouts.create(ORDER), undefined, "nothing is left to set off");
  assert.deepEqual([await balance(host), await balance(builder)], [dollars(10), dollars(-4)]);
  // Earnings after the batch was created are not part of it.
  await move("grant", host, dollars(3));
  const second = await payouts.create(ORDER);
  assert.deepEqual([second?.setOff, second?.total], [dollars(3), ZERO]);
  assert.deepEqual([await balance(host), await balance(builder)], [dollars(10), dollars(-1)]);
  assert.equal(await payouts.markPaid(promised?.id as Uuid, "o@example.com"), "paid");
  assert.deepEqual([await balance(host), await balance(builder)], [ZERO, dollars(-1)]);
  assert.ok((await checkLedger(db.pool)).every(({ differences }) => differences.length === 0));
});
