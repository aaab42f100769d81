/** The console's statement by day, the estimate of how long credit lasts, and custom purchases. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { publicId, type Uuid } from "../../base/ids.ts";
import { dollars, type Pico, pico } from "../../base/money.ts";
import { DAY_MS } from "../../base/time.ts";
import { insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";
import { estimateCreditDurationS } from "./statement.ts";

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
});
after(() => platform.close());

interface Row {
  kind: string;
  day: string | null;
  requests: number | null;
  amount_micro: string;
  balance_micro: string;
  reason: string | null;
  at: number | null;
}

async function newBuilder(): Promise<Person & { account: Uuid }> {
  const person = await signInTestPerson(platform, [{ kind: "builder" }]);
  return { ...person, account: person.accountIds[0] as Uuid };
}

async function statementOf({ browser }: Person, limit = 100): Promise<Row[]> {
  const rows: Row[] = [];
  for (let cursor: unknown = ""; cursor !== null; ) {
    const { body, status, text } = await browser.send("GET", `/console/api/statement?limit=${limit}${cursor}`);
    assert.equal(status, 200, text);
    rows.push(...(body.data as Row[]));
    cursor = body.next_cursor === null ? null : `&cursor=${body.next_cursor}`;
  }
  return rows;
}

const micro = (text: string): bigint => BigInt(text.replace(".", ""));
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/**
 * Inserts a past transfer with its balances directly, because the ledger can only add transfers at the present time.
 */
async function transferAt(accountId: Uuid, at: Date, amount: Pico, kind: "grant" | "refund"): Promise<void> {
  const signed = kind === "grant" ? amount : -amount;
  await platform.pool.query(
    `insert into transfer (id, kind, account_id, amount, reason, at, position)
     values ($1, $2, $3, $4, 'long ago', $5, overlay($1::uuid::text placing left(uuid_floor($5)::text, 13) from 1)::uuid)`,
    [platform.newId(), kind, accountId, amount.toString(), at],
  );
  await platform.pool.query("update ledger_account set balance = balance + $2 where id = $1", [
    accountId,
    signed.toString(),
  ]);
}

/** Inserts the usage of a past hour, as a settlement at that time would. */
async function usedAt(accountId: Uuid, hour: Date, charge: bigint, requests = 1): Promise<void> {
  await platform.pool.query(
    `insert into usage_hour (account_id, hour, key_id, model, outcome, requests, prompt_tokens, completion_tokens, charge_pico)
     values ($1, $2, $1, 'tiny-3b', 'ok', $3, 10, 5, $4)`,
    [accountId, hour, requests, charge.toString()],
  );
  await platform.pool.query("update ledger_account set balance = balance - $2 where id = $1", [
    accountId,
    charge.toString(),
  ]);
}

/**
 * Asserts that each balance is the previous one plus the row's amount, from the oldest row on, and that the newest is
 * the account's.
 */
async function assertAddsUp(person: Person & { account: Uuid }, rows: Row[]): Promise<void> {
  let balance = 0n;
  for (const row of rows.toReversed()) {
    balance += micro(row.amount_micro);
    assert.equal(micro(row.balance_micro), balance, JSON.stringify(row));
  }
  assert.equal(balance, (await platform.ledger.balance(person.account))?.balance);
}

describe("the statement by day", () => {
  test("lists one row of usage per day above that day's transfers, and adds up to the balance after late settlements", async () => {
    const person = await newBuilder();
    const { account } = person;
    const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const at = (days: number, ms = 0): Date => new Date(midnight - days * DAY_MS + ms);
    await transferAt(account, at(3, 3_600_000), dollars(10), "grant");
    await usedAt(account, at(3), 1_234_567n);
    await usedAt(account, at(3, 23 * 3_600_000), 3n, 2);
    // Two transfers in the same last millisecond of the day, and one in the first of the next day.
    await transferAt(account, at(2, -1), dollars(1), "refund");
    await transferAt(account, at(2, -1), dollars(1), "refund");
    await transferAt(account, at(2), dollars(3), "grant");
    await usedAt(account, at(2, 5 * 3_600_000), 7n);
    // A late settlement adds to the hour in which its request was made.
    await platform.pool.query(
      "update usage_hour set charge_pico = charge_pico + 5, requests = requests + 1 where account_id = $1 and hour = $2",
      [account, at(3)],
    );
    await platform.pool.query("update ledger_account set balance = balance - 5 where id = $1", [account]);
    const request = await insertServedRequest(platform, { accountId: account, charge: 11n });
    const rows = await statementOf(person);
    assert.deepEqual(
      rows.map(({ kind, day, requests, amount_micro }) => [kind, day, requests, amount_micro]),
      [
        ["usage", dayOf(midnight), 1, "-0.000011"],
        ["grant", null, null, "5000000.000000"],
        ["usage", dayOf(midnight - 2 * DAY_MS), 1, "-0.000007"],
        ["grant", null, null, "3000000.000000"],
        ["usage", dayOf(midnight - 3 * DAY_MS), 4, "-1.234575"],
        ["refund", null, null, "-1000000.000000"],
        ["refund", null, null, "-1000000.000000"],
        ["grant", null, null, "10000000.000000"],
      ],
    );
    await assertAddsUp(person, rows);
    for (const limit of [1, 3]) assert.deepEqual(await statementOf(person, limit), rows);
    // The requests of one day, to which a usage row links.
    const unfold = `/console/api/requests?from=${dayOf(midnight)}&to=${dayOf(midnight + DAY_MS)}`;
    const { data } = (await person.browser.send("GET", unfold)).body as { data: { id: string }[] };
    assert.deepEqual(
      data.map(({ id }) => id),
      [publicId("req", request)],
    );
    const file = (await person.browser.send("GET", "/console/api/statement.csv")).text.trimEnd().split("\r\n");
    assert.equal(file.length, 1 + rows.length);
    assert.match(
      String(file[1]),
      new RegExp(`^usage,${dayOf(midnight)},,1,[0-9]+,[0-9]+,-0\\.000011,${rows[0]?.balance_micro},,$`),
    );
  });

  test("excludes other accounts' rows, and refuses a cursor of another account", async () => {
    const [one, other] = [await newBuilder(), await newBuilder()];
    await insertServedRequest(platform, { accountId: one.account, charge: 11n });
    assert.equal((await statementOf(other)).length, 1);
    const { body } = await one.browser.send("GET", "/console/api/statement?limit=1");
    const answer = await other.browser.send("GET", `/console/api/statement?cursor=${body.next_cursor}`);
    assert.deepEqual([answer.status, answer.body.error?.code], [400, "invalid_cursor"]);
  });
});

describe("the estimate of how long credit lasts", () => {
  test("uses the daily mean of the last week, or the last day's spend if that is higher", async () => {
    const person = await newBuilder();
    const credits = async () => (await person.browser.send("GET", "/console/api/credits")).body.spending;
    assert.deepEqual(await credits(), {
      last_day_micro: "0.000000",
      last_week_micro: "0.000000",
      per_day_micro: "0.000000",
      lasts_s: null,
    });
    await usedAt(person.account, new Date(Math.floor(Date.now() / 3_600_000 - 72) * 3_600_000), dollars(3));
    assert.deepEqual(await credits(), {
      last_day_micro: "0.000000",
      last_week_micro: "3000000.000000",
      per_day_micro: "428571.428572",
      lasts_s: 403_199,
    });
    await usedAt(person.account, new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000), dollars(1));
    assert.deepEqual(await credits(), {
      last_day_micro: "1000000.000000",
      last_week_micro: "4000000.000000",
      per_day_micro: "1000000.000000",
      lasts_s: 86_400,
    });
    await usedAt(person.account, new Date(Math.floor(Date.now() / 3_600_000 - 200) * 3_600_000), 1n);
    assert.equal(((await credits()) as { last_week_micro: string }).last_week_micro, "4000000.000000");
  });

  test("is rounded down", () => {
    assert.equal(estimateCreditDurationS(pico(0n), pico(1n)), 0);
    assert.equal(estimateCreditDurationS(pico(-5n), pico(1n)), 0);
    assert.equal(estimateCreditDurationS(pico(5n), pico(0n)), null);
    assert.equal(estimateCreditDurationS(dollars(9_000_000), pico(1n)), 3650 * 86_400);
  });
});
