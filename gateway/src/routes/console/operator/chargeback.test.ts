/**
 * Fraud with a card payment that is charged back: a person buys credit, spends it on their own node, is paid out as
 * host, and disputes the payment. Tests the hold-back of earnings and the set-off of debt through the console, with the
 * payment provider's protocol, and checks the ledger afterwards.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { buildCheckoutSession, buildDispute } from "@tollgate/demo-provider/api-objects.ts";
import { type DemoPaymentProvider, openDemoPaymentProvider } from "@tollgate/demo-provider/demo-provider.ts";
import type { SaleRecord } from "@tollgate/demo-provider/sale-record.ts";
import { systemClock } from "../../../base/clock.ts";
import { publicId, type Uuid } from "../../../base/ids.ts";
import { createLog } from "../../../base/log.ts";
import { dollars, formatExactMicrodollars, type Pico, pico } from "../../../base/money.ts";
import { systemRandom } from "../../../base/random.ts";
import { DAY_MS, HOUR_MS } from "../../../base/time.ts";
import { checkLedger } from "../../../ledger/check.ts";
import type { Payments } from "../../../payments/payments.ts";
import { buildEventBody, createStripeProviderAt, deliverSignedEvent } from "../../../payments/testing-payments.ts";
import { insertServedRequest } from "../../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../../testing/sign-in-test-person.ts";

const PAYOUTS = "/console/api/operator/payouts";
const HOLD_DAYS = 7;
const PRICE_OUT = 40_000n;
/** The number of output tokens that cost $10 at that price. */
const TEN_DOLLARS_OF_TOKENS = Number(dollars(10) / PRICE_OUT);
const NOTHING = "0.000000";

const log = createLog("silent");
let platform: TestPlatform;
let demo: DemoPaymentProvider;
let payments: Payments;
let operator: Person;

before(async () => {
  demo = await openDemoPaymentProvider({ clock: systemClock, random: systemRandom(), log });
});
after(() => demo.close());
beforeEach(async (t) => {
  platform = await openTestPlatform({ payoutHoldDays: HOLD_DAYS, payments: createStripeProviderAt(demo) });
  assert.ok(platform.parts.payments);
  payments = platform.parts.payments;
  const opened = platform;
  // After each test, the ledger must balance.
  (t as import("node:test").TestContext).after(async () => {
    const differing = (await checkLedger(opened.pool)).filter(({ differences }) => differences.length > 0);
    await opened.close();
    assert.deepEqual(differing, []);
  });
  operator = await signInTestPerson(platform, [], { operator: true });
  await platform.pool.query("insert into price values (1, 'tiny-3b', 20000, 40000) on conflict do nothing");
});

/** Buys $100 of credit by card, and returns the sale as the payment provider has it. */
async function buy({ browser }: Person): Promise<SaleRecord> {
  const answer = await browser.send("POST", "/console/api/credits/checkout", { body: { pack_id: "pack_100" } });
  assert.equal(answer.status, 200, answer.text);
  const sale = demo.shop.sales.at(-1) as SaleRecord;
  const paid: SaleRecord = { ...sale, state: "paid", payment: `pi_${sale.session}`, charge: `ch_${sale.session}` };
  await deliverSignedEvent(payments, demo, buildEventBody("checkout.session.completed", buildCheckoutSession(paid)));
  return paid;
}

const disputed = (sale: SaleRecord, status = "needs_response", created = 1_900_000_000): Promise<void> =>
  deliverSignedEvent(
    payments,
    demo,
    buildEventBody(
      status === "needs_response" ? "charge.dispute.created" : "charge.dispute.closed",
      buildDispute(sale, { id: `dp_${sale.session}`, cents: 10_000, status }),
      { created },
    ),
  );

/** Inserts this number of served requests at $10 each, paid for by `builder` and served by `host`. */
async function spend(builder: Uuid, host: Uuid, times: number, at = new Date()): Promise<void> {
  for (let i = 0; i < times; i++) {
    await insertServedRequest(platform, {
      accountId: builder,
      charge: dollars(10),
      promptTokens: 0,
      completionTokens: TEN_DOLLARS_OF_TOKENS,
      host: { accountId: host, nodeId: host },
      at,
    });
  }
}

/** Simulates that time passes: makes all existing requests older by this duration. */
async function pass(ms: number): Promise<void> {
  const seconds = ms / 1000;
  const { pool } = platform;
  // Only whole hours can pass, because rollups have one row per hour.
  assert.equal(seconds % 3600, 0);
  await pool.query("update request set created_at = created_at - make_interval(secs => $1)", [seconds]);
  await pool.query("update earning_hour set hour = hour - make_interval(secs => $1)", [seconds]);
  await pool.query("update usage_hour set hour = hour - make_interval(secs => $1)", [seconds]);
}

const create = (body: unknown = {}) => operator.browser.send("POST", PAYOUTS, { body });
const linesOf = async (id: unknown) =>
  (await operator.browser.send("GET", `${PAYOUTS}/${id}`)).body.lines as Record<string, string>[];
const balance = async (id: Uuid): Promise<Pico> => (await platform.ledger.balance(id))?.balance as Pico;
const usd = (amount: number): string => formatExactMicrodollars(pico((dollars(1) * BigInt(amount * 100)) / 100n));
const sumsOf = ({ body }: { body: Record<string, unknown> }) => ({
  hosts: body.hosts,
  paid: body.total_micro,
  heldBack: body.held_back_micro,
  setOff: body.set_off_micro,
});

/** The sum of all payouts so far, in picodollars. */
async function paidOut(): Promise<string> {
  const { rows } = await platform.pool.query(
    "select coalesce(sum(amount), 0)::text as total from transfer where kind = 'payout'",
  );
  return rows[0].total;
}

/** A person with a host account, and a builder account whose starting credit is removed. */
async function both(): Promise<{ person: Person; builder: Uuid; host: Uuid }> {
  const person = await signInTestPerson(platform, [{ kind: "builder" }, { kind: "host" }]);
  const [builder, host] = person.accountIds as [Uuid, Uuid];
  const gift = {
    id: platform.newId(),
    kind: "refund",
    accountId: builder,
    amount: dollars(5),
    reason: "none",
  } as const;
  assert.equal(await platform.ledger.transfer(gift), "moved");
  return { person, builder, host };
}

describe("credit bought by card, spent on the buyer's own node, and charged back", () => {
  test("earnings are held back, and the disputed amount is set off against them instead of paid out", async () => {
    const { person, builder, host } = await both();
    const sale = await buy(person);
    await spend(builder, host, 10);
    assertRefused(await create(), 409, "nothing_owed");
    await pass(HOLD_DAYS * DAY_MS - 2 * HOUR_MS);
    assertRefused(await create(), 409, "nothing_owed");

    await disputed(sale);
    assert.deepEqual([await balance(builder), await balance(host)], [-dollars(100), dollars(70)]);
    const batch = await create({ note: "after the dispute" });
    assert.equal(batch.status, 201, batch.text);
    assert.deepEqual(sumsOf(batch), { hosts: 0, paid: NOTHING, heldBack: NOTHING, setOff: usd(70) });
    assert.equal(batch.body.state, "paid", "there is nothing to send");
    assert.deepEqual([await balance(builder), await balance(host)], [-dollars(30), 0n]);
    const [line] = await linesOf(batch.body.id);
    assert.deepEqual(
      [line?.account, line?.amount_micro, line?.held_back_micro, line?.set_off_micro],
      [publicId("acc", host), NOTHING, NOTHING, usd(70)],
    );

    // The set-off is shown on the builder's statement and in the host's earnings.
    const statement = await person.browser.send("GET", "/console/api/ledger?limit=1");
    const [entry] = statement.body.data as Record<string, unknown>[];
    assert.deepEqual([entry?.kind, entry?.amount_micro, entry?.request_id], ["setoff", usd(70), null]);
    assert.match(String(entry?.reason), /set off/);
    const earnings = (await person.browser.send("GET", "/console/api/earnings")).body.balance;
    assert.deepEqual(earnings, {
      earned_micro: usd(70),
      paid_out_micro: NOTHING,
      set_off_micro: usd(70),
      pending_micro: NOTHING,
      held_back_micro: NOTHING,
      own_micro: usd(70),
      withheld_micro: "0.000000",
    });

    await pass(30 * DAY_MS);
    assertRefused(await create(), 409, "nothing_owed");
    assert.equal(await paidOut(), "0");
  });

  test("without a dispute, earnings are paid in full when the hold-back period ends, and not earlier", async () => {
    const { person, builder, host } = await both();
    await buy(person);
    await spend(builder, host, 10);
    await pass(HOLD_DAYS * DAY_MS - HOUR_MS);
    assertRefused(await create(), 409, "nothing_owed");
    await pass(2 * HOUR_MS);
    const batch = await create();
    assert.deepEqual(sumsOf(batch), { hosts: 1, paid: usd(70), heldBack: NOTHING, setOff: NOTHING });
    assert.equal((await operator.browser.send("POST", `${PAYOUTS}/${batch.body.id}/paid`)).body.state, "paid");
    assert.equal(await paidOut(), dollars(70).toString());
    assert.equal(await balance(host), 0n);
  });

  test("winning the dispute after the set-off returns the credit to the builder account", async () => {
    const { person, builder, host } = await both();
    const sale = await buy(person);
    await spend(builder, host, 10);
    await disputed(sale);
    assert.equal((await create()).body.set_off_micro, usd(70));
    await disputed(sale, "won", 1_900_000_001);
    assert.deepEqual([await balance(builder), await balance(host)], [dollars(70), 0n]);
  });

  test("losing the dispute after the set-off deducts nothing more; later earnings pay the rest of the debt", async () => {
    const { person, builder, host } = await both();
    const sale = await buy(person);
    await spend(builder, host, 10);
    await disputed(sale);
    assert.equal((await create()).body.set_off_micro, usd(70));
    await disputed(sale, "lost", 1_900_000_001);
    assert.deepEqual([await balance(builder), await balance(host)], [-dollars(30), 0n]);
    await pass(30 * DAY_MS);
    assertRefused(await create(), 409, "nothing_owed");
    // Earnings from another builder's requests pay the rest of the debt.
    const stranger = await both();
    await buy(stranger.person);
    await spend(stranger.builder, host, 5);
    assert.deepEqual(sumsOf(await create()), { hosts: 0, paid: NOTHING, heldBack: usd(5), setOff: usd(30) });
    assert.deepEqual([await balance(builder), await balance(host)], [0n, dollars(5)]);
    assert.equal(await paidOut(), "0");
  });
});

describe("the calculation of a payout batch", () => {
  test("pays older earnings, holds back younger ones, and deducts a debt from the older earnings first", async () => {
    const { person, builder, host } = await both();
    const stranger = await both();
    await buy(stranger.person);
    await spend(stranger.builder, host, 4, new Date(Date.now() - (HOLD_DAYS + 1) * DAY_MS));
    await spend(stranger.builder, host, 5);
    const first = await create({ minimum_micro: "28000000" });
    assert.deepEqual(sumsOf(first), { hosts: 1, paid: usd(28), heldBack: usd(35), setOff: NOTHING });

    // Adds $7 of earnings older than `HOLD_DAYS` for the host, and a debt of $30 for its owner. The $28 in the open
    // batch are not used for the debt.
    await spend(stranger.builder, host, 1, new Date(Date.now() - (HOLD_DAYS + 1) * DAY_MS));
    const sale = await buy(person);
    await spend(builder, stranger.host, 3);
    await disputed(sale);
    assert.equal(await balance(builder), -dollars(30));
    const second = await create();
    assert.deepEqual(sumsOf(second), { hosts: 0, paid: NOTHING, heldBack: usd(12 + 21), setOff: usd(30) });
    assert.deepEqual([await balance(builder), await balance(host)], [0n, dollars(28 + 12)]);
    const paid = await operator.browser.send("POST", `${PAYOUTS}/${first.body.id}/paid`);
    assert.equal(paid.body.state, "paid", "what was promised is paid");
    assert.equal(await balance(host), dollars(12));
  });

  test("sets off a debt once across all accounts of the owner, in the order of account IDs", async () => {
    const payer = await both();
    await buy(payer.person);
    const person = await signInTestPerson(platform, [
      { kind: "builder" },
      { kind: "host" },
      { kind: "host" },
      { kind: "builder" },
    ]);
    const [, ...rest] = person.accountIds;
    const [h1, h2] = rest.slice(0, 2).sort() as [Uuid, Uuid];
    const [b1, b2] = [person.accountIds[0], rest[2]].sort() as [Uuid, Uuid];
    for (const [builder, owed] of [
      [b1, 10],
      [b2, 6],
    ] as const) {
      const take = { id: platform.newId(), kind: "refund", accountId: builder, reason: "a test" } as const;
      await platform.ledger.transfer({ ...take, amount: dollars(5 + owed) });
    }
    // The second owner of a host account has a debt too.
    const partner = await signInTestPerson(platform, [{ kind: "builder" }]);
    const [b3] = partner.accountIds as [Uuid];
    await platform.identities.own(partner.identityId, h2);
    const take = { id: platform.newId(), kind: "refund", accountId: b3, reason: "a test" } as const;
    await platform.ledger.transfer({ ...take, amount: dollars(5 + 2) });
    const old = new Date(Date.now() - 30 * DAY_MS);
    await spend(payer.builder, h1, 2, old);
    await spend(payer.builder, h2, 2, old);

    const batch = await create();
    assert.deepEqual(sumsOf(batch), { hosts: 1, paid: usd(10), heldBack: NOTHING, setOff: usd(18) });
    assert.deepEqual([await balance(b1), await balance(b2), await balance(b3)], [0n, 0n, 0n]);
    const { rows } = await platform.pool.query(
      "select host_account_id as host, builder_account_id as builder, amount from payout_setoff order by 1, 2",
    );
    assert.deepEqual(rows, [
      { host: h1, builder: b1, amount: dollars(10) },
      { host: h1, builder: b2, amount: dollars(4) },
      { host: h2, builder: b2, amount: dollars(2) },
      { host: h2, builder: b3, amount: dollars(2) },
    ]);
    assertRefused(await create(), 409, "nothing_owed");
  });

  test("neither pays nor sets off for a suspended host until the host is restored", async () => {
    const { person, builder, host } = await both();
    const sale = await buy(person);
    await spend(builder, host, 10);
    await pass(8 * DAY_MS);
    await disputed(sale);
    await platform.pool.query("update account set suspended_at = now() where id = $1", [host]);
    assertRefused(await create(), 409, "nothing_owed");
    assert.equal(await balance(host), dollars(70));
    await platform.pool.query("update account set suspended_at = null where id = $1", [host]);
    assert.equal((await create()).body.set_off_micro, usd(70));
  });

  test("lists earnings from the host's own requests separately", async () => {
    const { person, builder, host } = await both();
    const stranger = await both();
    await buy(person);
    await buy(stranger.person);
    await spend(builder, host, 1);
    await spend(stranger.builder, host, 2);
    const earnings = await person.browser.send("GET", "/console/api/earnings");
    assert.deepEqual(
      (earnings.body.data as { own: boolean }[]).map(({ own }) => own),
      [false, false, true],
    );
    const { own_micro, earned_micro, held_back_micro } = earnings.body.balance as Record<string, string>;
    assert.deepEqual([own_micro, earned_micro, held_back_micro], [usd(7), usd(21), usd(21)]);
    const sums = await person.browser.send("GET", "/console/api/earnings/sums?by=model");
    assert.deepEqual(
      (sums.body.data as Record<string, string>[]).map((row) => [row.model, row.earned_micro, row.own_micro]),
      [["tiny-3b", usd(21), usd(7)]],
    );
    const file = await person.browser.send("GET", "/console/api/earnings.csv");
    const [head, ...rows] = file.text.trim().split("\r\n");
    const column = head?.split(",").indexOf("own") ?? -1;
    assert.deepEqual(
      rows.map((row) => row.split(",")[column]),
      ["false", "false", "true"],
    );

    // Operators also see what owners paid to their own host: for all earnings, and for those that each payout made
    // payable.
    const shown = async () =>
      (await operator.browser.send("GET", `/console/api/operator/accounts/${publicId("acc", host)}/payouts`)).body as {
        data: Record<string, string>[];
        balance: Record<string, string>;
      };
    assert.equal((await shown()).balance.own_micro, usd(7));
    await pass((HOLD_DAYS + 1) * DAY_MS);
    await spend(builder, host, 3);
    const first = await create();
    assert.deepEqual(sumsOf(first), { hosts: 1, paid: usd(21), heldBack: usd(21), setOff: NOTHING });
    assert.equal((await linesOf(first.body.id))[0]?.own_micro, usd(7));
    const csv = (await operator.browser.send("GET", `${PAYOUTS}/${first.body.id}/csv`)).text.split("\r\n");
    assert.equal(csv[1]?.split(",")[csv[0]?.split(",").indexOf("own_micro") ?? -1], usd(7));
    await pass((HOLD_DAYS + 1) * DAY_MS);
    const second = await create();
    assert.equal((await linesOf(second.body.id))[0]?.own_micro, usd(21));
    const { data, balance: allTime } = await shown();
    assert.deepEqual(
      data.map(({ amount_micro, own_micro }) => [amount_micro, own_micro]),
      [
        [usd(21), usd(21)],
        [usd(21), usd(7)],
      ],
    );
    assert.equal(allTime.own_micro, usd(28));
    const own = await person.browser.send("GET", "/console/api/payouts");
    assert.deepEqual(
      (own.body.data as Record<string, string>[]).map(({ own_micro }) => own_micro),
      [usd(21), usd(7)],
    );
  });
});

describe("concurrent payout batches", () => {
  test("include each amount only once, and set off each debt only once", async () => {
    const { person, builder, host } = await both();
    const stranger = await both();
    const sale = await buy(person);
    await spend(builder, host, 10);
    await buy(stranger.person);
    await spend(stranger.builder, host, 6);
    await pass(8 * DAY_MS);
    await disputed(sale);
    const answers = await Promise.all(Array.from({ length: 4 }, () => create()));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409]);
    const made = answers.find(({ status }) => status === 201) ?? assert.fail("none");
    assert.deepEqual(sumsOf(made), { hosts: 1, paid: usd(12), heldBack: NOTHING, setOff: usd(100) });
  });

  test("run alongside disputes, requests and payouts without deadlock, and the ledger balances", async () => {
    const people = [];
    for (let i = 0; i < 3; i++) {
      const one = await both();
      people.push({ ...one, sale: await buy(one.person) });
    }
    const old = new Date(Date.now() - 30 * DAY_MS);
    for (const [i, { builder }] of people.entries()) {
      await spend(builder, (people[(i + 1) % 3] as (typeof people)[number]).host, 5, old);
    }
    const work = people.flatMap(({ builder, host, sale }) => [
      create().then(async ({ status, body }) => {
        if (status !== 201) return;
        const paid = await operator.browser.send("POST", `${PAYOUTS}/${body.id}/paid`);
        assert.equal(paid.body.state, "paid");
      }),
      disputed(sale),
      spend(builder, host, 1).catch(() => undefined),
    ]);
    await Promise.all(work);
    await create();
    // In whatever order the disputes, requests and payouts ran, no person with a debt still has a host balance that
    // could be paid out.
    const { rows } = await platform.pool.query(
      `select b.id from ledger_account b join account_owner o on o.account_id = b.id
         join account_owner p on p.identity_id = o.identity_id join ledger_account h on h.id = p.account_id and h.kind = 'host'
        where b.kind = 'builder' and b.balance < 0 and h.balance > 0`,
    );
    assert.deepEqual(rows, []);
  });

  test("stay open when a host's balance is too low; the 409 payout_exceeds_balance names the payout", async () => {
    const { person, builder, host } = await both();
    await buy(person);
    await spend(builder, host, 1);
    await pass(8 * DAY_MS);
    const batch = await create();
    assert.equal(batch.status, 201);
    const [line] = await linesOf(batch.body.id);
    // Entered directly in the ledger, which bypasses the rules for payouts.
    const id = platform.newId();
    await platform.ledger.transfer({ id, kind: "payout", accountId: host, amount: dollars(1), reason: "by hand" });
    const refused = await operator.browser.send("POST", `${PAYOUTS}/${batch.body.id}/paid`);
    assertRefused(refused, 409, "payout_exceeds_balance");
    assert.ok(refused.body.error?.message.includes(String(line?.payout)), refused.text);
    assert.equal((await operator.browser.send("GET", `${PAYOUTS}/${batch.body.id}`)).body.state, "open");
    const back = {
      id: platform.newId(),
      kind: "grant",
      accountId: host,
      amount: dollars(1),
      reason: "put back",
    } as const;
    await platform.ledger.transfer(back);
    assert.equal((await operator.browser.send("POST", `${PAYOUTS}/${batch.body.id}/paid`)).body.state, "paid");
  });
});
