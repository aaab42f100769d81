/**
 * The console after retention dropped old months: lists contain later records only, sums are unchanged, and answers say
 * from when records are kept.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemClock } from "../../base/clock.ts";
import { publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars, pico } from "../../base/money.ts";
import { DAY_MS, toUnixSeconds } from "../../base/time.ts";
import { openHistoryRetention } from "../../history/history-retention.ts";
import { formatMonth, makePastMonths, monthsAgo } from "../../history/testing-past-months.ts";
import { insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

const CHARGE = 1_500_000n;

let platform: TestPlatform;
let builder: Person;
let host: Person;
/** Three requests of each month, starting with the oldest. */
let past: Uuid[] = [];
before(async () => {
  platform = await openTestPlatform();
  builder = await signInTestPerson(platform, [{ kind: "builder" }]);
  host = await signInTestPerson(platform, [{ kind: "host" }]);
  await makePastMonths(platform.pool, 3);
  past = [];
  for (const ago of [3, 2, 1]) {
    for (const day of [1, 2, 3]) {
      past.push(
        await insertServedRequest(platform, {
          accountId: builder.accountIds[0] as Uuid,
          at: new Date(monthsAgo(ago).getTime() + day * DAY_MS),
          charge: CHARGE,
          host: { accountId: host.accountIds[0] as Uuid, nodeId: platform.newId() },
        }),
      );
    }
  }
  await platform.rollUp();
});
after(() => platform.close());

const get = async (path: string, person = builder) => {
  const answer = await person.browser.send("GET", `/console/api/${path}`);
  return { status: answer.status, body: answer.body };
};
const listed = async (path: string) => (await get(path)).body.data as Record<string, unknown>[];

test("the console lists all requests before retention drops a month", async () => {
  const { body } = await get("requests");
  assert.deepEqual([body.kept_from, (body.data as unknown[]).length], [null, 9]);
});

test("after two months were dropped, the console lists later requests only, and all sums are unchanged", async () => {
  const statement = await listed("statement");
  const { as_of: _, ...totals } = (await get("requests/totals")).body;
  const usage = await listed(`usage?from=${formatMonth(monthsAgo(3))}-01`);
  const days = Math.floor((systemClock.now() - monthsAgo(1).getTime()) / DAY_MS);
  const done = await openHistoryRetention({
    pool: platform.pool,
    rules: { historyDays: days, refusalsDays: undefined, exportDir: undefined, payoutHoldDays: 0 },
    now: () => systemClock.now(),
  }).retain();
  assert.equal(done?.closed.length, 2);
  const kept = past.slice(6).map((id) => publicId("req", id));

  for (const query of [
    "",
    "?sort=oldest",
    "?outcome=ok&sort=oldest",
    `?sort=cost&from=${toUnixSeconds(monthsAgo(1))}&to=${toUnixSeconds(monthsAgo(0))}`,
  ]) {
    const { body } = await get(`requests${query}`);
    assert.equal(body.kept_from, toUnixSeconds(monthsAgo(1)), query);
    assert.deepEqual((body.data as { id: string }[]).map(({ id }) => id).toSorted(), kept.toSorted(), query);
    assert.equal(body.next_cursor, null);
  }
  assert.deepEqual(await listed("statement"), statement);
  const { as_of: __, ...totalsAfter } = (await get("requests/totals")).body;
  assert.deepEqual(totalsAfter, totals);
  assert.deepEqual(await listed(`usage?from=${formatMonth(monthsAgo(3))}-01`), usage);

  // The pages cross from a month with records into a dropped month, which has one closing line.
  const lines: Record<string, unknown>[] = [];
  for (let cursor: unknown; cursor !== null; ) {
    const { body } = await get(`ledger?limit=2${cursor === undefined ? "" : `&cursor=${cursor}`}`);
    lines.push(...(body.data as Record<string, unknown>[]));
    cursor = body.next_cursor;
  }
  const closings = lines.filter(({ month }) => month !== null);
  assert.deepEqual(
    closings.map(({ kind, month, amount_micro, request_id, transfer_id, reason }) => [
      kind,
      month,
      amount_micro,
      request_id,
      transfer_id,
      reason,
    ]),
    [2, 1]
      .map((n) => [
        "charge",
        formatMonth(monthsAgo(n + 1)),
        formatExactMicrodollars(pico(-3n * CHARGE)),
        null,
        null,
        null,
      ])
      .toReversed(),
  );
  assert.deepEqual(
    lines.filter(({ request_id }) => request_id !== null).map(({ request_id }) => request_id),
    kept.toReversed(),
  );

  const day = monthsAgo(1).toISOString().slice(0, 10);
  const gone = publicId("req", past[0] as Uuid);
  const words = `No request in your history has this ID. Your oldest record is from ${day}, and this request would be older.`;
  const answers: [string, Person][] = [
    [`requests/${gone}`, builder],
    [`requests/${gone.replace("req_", "chatcmpl-")}`, builder],
    [`requests/${gone}/receipt`, builder],
    [`earnings/${gone}/receipt`, host],
  ];
  for (const [path, person] of answers) {
    const { status, body } = await get(path, person);
    const { code, message } = body.error as { code: string; message: string };
    assert.deepEqual([status, code, message], [404, "not_found", words], path);
  }
  const never = await get(`requests/${publicId("req", platform.newId())}`);
  assert.equal((never.body.error as { message: string }).message, "No request in your history has this ID.");
  assert.equal((await get(`requests/${kept[0]}/receipt`)).status, 200);
});
