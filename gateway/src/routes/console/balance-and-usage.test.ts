/**
 * Tests the routes of a builder's usage and statement. The tests are ordered by HTTP status. routes.test.ts tests the
 * balance.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { dollars, formatExactMicrodollars, pico } from "../../base/money.ts";
import { DAY_MS, HOUR_MS, startOfMonth } from "../../base/time.ts";
import { insertRefusedRequest, insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

let platform: TestPlatform;
let owner: Person;
let accountId: Uuid;
let keys: [Uuid, Uuid];
/** Two days of requests with charges of 1, 2, 3… picodollars, so that all sums differ. */
let past: { key: Uuid; model: string; outcome: string; at: Date; charge: bigint }[] = [];
let start: number;
before(async () => {
  platform = await openTestPlatform();
  owner = await signInTestPerson(platform, [{ kind: "builder" }]);
  accountId = owner.accountIds[0] as Uuid;
  keys = [platform.newId(), platform.newId()];
  start = Math.floor(Date.now() / DAY_MS) * DAY_MS - 5 * DAY_MS;
  past = Array.from({ length: 24 }, (_, i) => ({
    key: keys[i % 2] as Uuid,
    model: i % 3 === 0 ? "small-8b" : "tiny-3b",
    outcome: i % 4 === 0 ? "upstream_failed" : "ok",
    at: new Date(start + i * 2 * HOUR_MS + 5),
    charge: 1n << BigInt(i),
  }));
  await Promise.all(past.map((row) => insertServedRequest(platform, { ...row, accountId, keyId: row.key })));
});
after(() => platform.close());

interface Bucket {
  [field: string]: unknown;
  requests: number;
  prompt_tokens: number;
  completion_tokens: number;
  charge_micro: string;
}

const usage = (query: Record<string, string>, { browser } = owner) =>
  browser.send("GET", `/console/api/usage?${new URLSearchParams(query)}`);
const span = () => ({ from: new Date(start).toISOString(), to: new Date(start + 2 * DAY_MS).toISOString() });

/** The expected sums of the buckets, calculated from the requests themselves. */
function expected(by: string, bucketOf: (row: (typeof past)[number]) => string, split?: "key" | "model"): Bucket[] {
  const sums = new Map<string, { bucket: string; part: string; rows: typeof past }>();
  for (const row of past) {
    const part = split === "key" ? publicId("key", row.key) : split === "model" ? row.model : "";
    const name = `${bucketOf(row)} ${part}`;
    const sum = sums.get(name) ?? { bucket: bucketOf(row), part, rows: [] };
    sums.set(name, { ...sum, rows: [...sum.rows, row] });
  }
  return [...sums.values()]
    .sort((a, b) => (`${a.bucket} ${a.part}` < `${b.bucket} ${b.part}` ? -1 : 1))
    .map(({ bucket, part, rows }) => ({
      [by]: bucket,
      ...(split !== undefined && { [split]: part }),
      // The keys of these requests do not exist, so they have no name.
      ...((by === "key" || split === "key") && { key_name: null }),
      requests: rows.length,
      prompt_tokens: rows.length * 3,
      completion_tokens: rows.length * 5,
      charge_micro: formatExactMicrodollars(pico(rows.reduce((sum, { charge }) => sum + charge, 0n))),
    }));
}

describe("status 200", () => {
  const hourOf = ({ at }: { at: Date }): string => `${at.toISOString().slice(0, 13)}:00:00Z`;
  const DIMENSIONS: [string, (row: (typeof past)[number]) => string][] = [
    ["key", ({ key }) => publicId("key", key)],
    ["model", ({ model }) => model],
    ["outcome", ({ outcome }) => outcome],
    ["day", ({ at }) => at.toISOString().slice(0, 10)],
    ["hour", hourOf],
  ];
  for (const [by, bucketOf] of DIMENSIONS) {
    test(`returns usage by ${by}, also split by key and by model, exact to the picodollar`, async () => {
      const { status, body } = await usage({ by, ...span() });
      assert.equal(status, 200);
      const { data, as_of: _, ...envelope } = body;
      assert.deepEqual(data, expected(by, bucketOf));
      assert.deepEqual(envelope, {
        object: "list",
        by,
        from: start / 1000,
        to: (start + 2 * DAY_MS) / 1000,
        next_cursor: null,
      });
      for (const split of ["key", "model"] as const) {
        if (split === by) continue;
        assert.deepEqual((await usage({ by, split, ...span() })).body.data, expected(by, bucketOf, split), split);
      }
    });
  }

  test("returns usage by day of this month by default, and includes every hour that begins within the time span", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    const [account] = person.accountIds as [Uuid];
    const month = startOfMonth(Date.now());
    await insertServedRequest(platform, { accountId: account, charge: 5n, at: new Date(month.getTime() + 1) });
    await insertServedRequest(platform, { accountId: account, charge: 7n, at: new Date(month.getTime() - 1) });
    const { body } = await usage({}, person);
    const [today, ...others] = body.data as Bucket[];
    assert.deepEqual([body.by, today?.charge_micro, others], ["day", "0.000005", []]);
    assert.equal(today?.day, month.toISOString().slice(0, 10));
    const within = await usage({ from: new Date(month.getTime() - 1).toISOString() }, person);
    assert.equal((within.body.data as Bucket[]).length, 2, "a span that begins within an hour has the whole hour");
  });

  test("counts a request that a limit refused under an empty model name in usage by model", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    await insertRefusedRequest(platform, { accountId: person.accountIds[0] as Uuid });
    const [bucket] = (await usage({ by: "model", split: "key" }, person)).body.data as Bucket[];
    assert.deepEqual([bucket?.model, bucket?.requests, bucket?.charge_micro], ["", 1, "0.000000"]);
  });

  test("returns each key's name in usage that is grouped or split by key, and in no other usage", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    const [account] = person.accountIds as [Uuid];
    const made = await person.browser.send("POST", "/console/api/keys", { body: { name: "nightly" } });
    const key = made.body.id as string;
    await insertServedRequest(platform, { accountId: account, keyId: parseId("key", key) as Uuid, charge: 5n });
    const named = { key, key_name: "nightly" };
    for (const query of [{ by: "key" }, { by: "model", split: "key" }]) {
      const [bucket] = (await usage(query, person)).body.data as (Bucket & { key: string; key_name: string })[];
      assert.deepEqual({ key: bucket?.key, key_name: bucket?.key_name }, named);
    }
    const [day] = (await usage({}, person)).body.data as object[];
    assert.ok(day !== undefined && !("key_name" in day));
  });

  test("returns the usage of one key, without that of other keys", async () => {
    const { data } = (await usage({ by: "key", ...span() })).body as { data: (Bucket & { key: string })[] };
    assert.ok(data.length > 1);
    for (const sum of data) {
      assert.deepEqual((await usage({ by: "key", key: sum.key, ...span() })).body.data, [sum]);
    }
    const none = publicId("key", platform.newId());
    assert.deepEqual((await usage({ key: none, ...span() })).body.data, []);
    assertRefused(await usage({ key: "none" }), 400, "key");
  });

  test("returns an account's usage to that account only", async () => {
    const stranger = await signInTestPerson(platform, [{ kind: "builder" }]);
    for (const by of ["key", "model", "day", "hour", "outcome"]) {
      assert.deepEqual((await usage({ by, ...span() }, stranger)).body.data, [], by);
    }
  });

  test("lists every transfer once on the statement, newest first; the amounts add up to the balance", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    const [account] = person.accountIds as [Uuid];
    const request = await insertServedRequest(platform, { accountId: account, charge: 1_234_567n });
    await insertServedRequest(platform, { accountId: account, charge: 0n });
    const transfer = { id: platform.newId(), kind: "refund", accountId: account, reason: "a mistake" } as const;
    await platform.ledger.transfer({ ...transfer, amount: dollars(2) });
    const lines: Record<string, unknown>[] = [];
    for (let cursor: unknown; cursor !== null; ) {
      const more = cursor === undefined ? "" : `&cursor=${cursor}`;
      const { body } = await person.browser.send("GET", `/console/api/ledger?limit=1${more}`);
      assert.equal((body.data as object[]).length, 1);
      lines.push(...(body.data as Record<string, unknown>[]));
      cursor = body.next_cursor;
    }
    const [{ transfer_id: grant } = {}] = lines.slice(2);
    assert.match(String(grant), /^pay_[0-9a-z]{26}$/);
    assert.deepEqual(
      lines.map(({ at, ...line }) => line),
      [
        {
          object: "ledger_entry",
          kind: "refund",
          amount_micro: "-2000000.000000",
          request_id: null,
          transfer_id: publicId("pay", transfer.id),
          month: null,
          reason: "a mistake",
        },
        {
          object: "ledger_entry",
          kind: "charge",
          amount_micro: "-1.234567",
          request_id: publicId("req", request),
          transfer_id: null,
          month: null,
          reason: null,
        },
        {
          object: "ledger_entry",
          kind: "grant",
          amount_micro: "5000000.000000",
          request_id: null,
          transfer_id: grant,
          month: null,
          reason: "a test",
        },
      ],
    );
    for (const { at } of lines) assert.ok(Math.abs(Number(at) - Date.now() / 1000) < 60);
    const { body } = await person.browser.send("GET", "/console/api/balance");
    assert.equal(body.balance_micro, "2999998.765433");
  });
});

describe("status 400", () => {
  test("names an invalid field and its rule", async () => {
    const past = await usage({ to: "2026-10-15" });
    assert.deepEqual([past.status, past.body.from], [200, Date.UTC(2026, 9, 1) / 1000], "the first of that month");
    for (const [query, param, rule] of [
      [{ by: "week" }, "by", /must be one of key, model, day, hour, outcome/],
      [{ split: "day" }, "split", /must be "key" or "model"/],
      [{ from: "then" }, "from", /must be a time/],
      [{ from: "2026-11-15", to: "2026-11-14" }, "to", /must not be before "from"/],
      [{ by: "hour", from: "2026-01-01", to: "2026-02-02" }, "from", /at most 31 days/],
      ...["day", "model", "key", "outcome"].map(
        (by) => [{ by, from: "2025-01-01", to: "2026-02-06" }, "from", /at most 400 days/] as const,
      ),
    ] as const) {
      const answer = await usage(query as Record<string, string>);
      assertRefused(answer, 400, param);
      assert.match(String(answer.body.error?.message), rule);
    }
    assert.equal(
      (await usage({ by: "hour", from: "2026-01-01", to: "2026-02-01" })).status,
      200,
      "31 days are not more",
    );
    assert.equal((await usage({ from: "2025-01-01", to: "2026-02-05" })).status, 200, "400 days are not more");
    assertRefused(await owner.browser.send("GET", "/console/api/ledger?limit=1000"), 400, "limit");
  });

  test("refuses a cursor that another list returned (invalid_cursor)", async () => {
    const stranger = await signInTestPerson(platform, [{ kind: "builder" }]);
    await insertServedRequest(platform, { accountId: stranger.accountIds[0] as Uuid, charge: 1n });
    const cursorOf = async (url: string, { browser }: Person) => (await browser.send("GET", url)).body.next_cursor;
    for (const cursor of [
      "1",
      Buffer.from("1").toString("base64url"),
      await cursorOf("/console/api/ledger?limit=1", stranger),
      await cursorOf("/console/api/requests?limit=1", owner),
    ]) {
      assert.notEqual(cursor, null);
      assertRefused(await owner.browser.send("GET", `/console/api/ledger?cursor=${cursor}`), 400, "invalid_cursor");
    }
  });
});
