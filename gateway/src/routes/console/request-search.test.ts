/** Searches a builder's request history: sorting, ranges of cost, tokens and time, exclusions, and their limits. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars, pico } from "../../base/money.ts";
import { HOUR_MS } from "../../base/time.ts";
import { insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { getRequests, idsOf, readAllPages, REQUESTS_URL as URL } from "../testing/request-pages.ts";
import { assertRefused, signInTestPerson } from "../testing/sign-in-test-person.ts";

/** The first hour of the test's requests. */
const start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 40 * HOUR_MS;

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
});
after(() => platform.close());

test("in every sort order, with and without a label, pages contain each request once and totals include all", async () => {
  const person = await signInTestPerson(platform, [{ kind: "builder" }]);
  const [account] = person.accountIds as [Uuid];
  const at = (i: number): Date => new Date(start + i * 7 * 60_000);
  const rows = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const row = {
        charge: BigInt((i * 7) % 5),
        label: ["a", "b", undefined][i % 3],
        model: i % 2 === 0 ? "tiny-3b" : "small-8b",
      };
      const { label, ...rest } = row;
      const id = await insertServedRequest(platform, {
        accountId: account,
        at: at(i),
        ...rest,
        ...(label !== undefined && { label }),
      });
      return { ...row, id: publicId("req", id) };
    }),
  );
  // Some requests may be on a past day; labels of past days are counted from rollups.
  await platform.rollUp();
  const from = at(0).toISOString();
  const orders: Record<string, (a: (typeof rows)[number], b: (typeof rows)[number]) => number> = {
    newest: (a, b) => (a.id < b.id ? 1 : -1),
    oldest: (a, b) => (a.id > b.id ? 1 : -1),
    cost: (a, b) => Number(b.charge - a.charge) || (a.id < b.id ? 1 : -1),
    // All requests have the same duration, so the order is newest first.
    duration: (a, b) => (a.id < b.id ? 1 : -1),
  };
  for (const [sort, order] of Object.entries(orders)) {
    for (const filter of [{}, { label: "a" }, { model: "tiny-3b" }, { label: "b", model: "small-8b" }] as {
      label?: string;
      model?: string;
    }[]) {
      const { label = undefined, model = undefined } = filter;
      const expected = rows
        .filter((row) => (label === undefined || row.label === label) && (model === undefined || row.model === model))
        .sort(order);
      const found = await readAllPages(person, { sort, from, ...filter });
      assert.deepEqual(
        found,
        expected.map(({ id }) => id),
        JSON.stringify({ sort, ...filter }),
      );
      const query = new URLSearchParams({ from, ...filter });
      const { body } = await person.browser.send("GET", `${URL}/totals?${query}`);
      const charge = expected.reduce((sum, row) => sum + row.charge, 0n);
      assert.deepEqual([body.requests, body.charge_micro], [expected.length, formatExactMicrodollars(pico(charge))]);
    }
  }
});

/**
 * A new person with this number of requests, one per minute, oldest first, with different costs, tokens, models and
 * labels.
 */
async function withMeasures(count: number) {
  const person = await signInTestPerson(platform, [{ kind: "builder" }]);
  const [account] = person.accountIds as [Uuid];
  const rows = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const row = {
        at: new Date(start + i * 60_000),
        charge: BigInt(i % 4) * 1_000_000n + 1n,
        completionTokens: 1 + (i % 6) * 100,
        model: i % 2 === 0 ? "tiny-3b" : "small-8b",
        outcome: i % 3 === 0 ? "upstream_stall" : "ok",
        ...(i % 5 === 0 && { label: "batch" }),
      };
      return {
        ...row,
        id: publicId("req", await insertServedRequest(platform, { accountId: account, promptTokens: 3, ...row })),
      };
    }),
  );
  return { person, account, rows };
}
type Measured = Awaited<ReturnType<typeof withMeasures>>["rows"][number];

test("filters by cost, tokens or duration, and exclusions, apply to list, totals, CSV file and counts over time", async () => {
  const { person, rows } = await withMeasures(60);
  const filters: [Record<string, string>, (row: Measured) => boolean][] = [
    [{ charge_micro_min: "1.000001" }, ({ charge }) => charge > 1_000_000n],
    [{ charge_micro_max: "1.000001" }, ({ charge }) => charge <= 1_000_001n],
    [{ tokens_min: "104", tokens_max: "303" }, ({ completionTokens: n }) => n + 3 >= 104 && n + 3 <= 303],
    [{ ttft_ms_min: "30", duration_ms_max: "400" }, () => true],
    [{ ttft_ms_max: "29" }, () => false],
    [{ not_outcome: "ok" }, ({ outcome }) => outcome !== "ok"],
    [{ outcome: "ok,upstream_stall", not_model: "tiny-3b" }, ({ model }) => model !== "tiny-3b"],
    [{ model: "tiny-3b,large-70b" }, ({ model }) => model === "tiny-3b"],
    [{ not_label: "batch" }, ({ label }) => label === undefined],
    [{ label: "batch", tokens_min: "4" }, ({ label, completionTokens: n }) => label !== undefined && n + 3 >= 4],
    [
      { not_key: publicId("key", platform.newId()), tokens_min: "400", model: "small-8b" },
      (row) => row.completionTokens >= 397 && row.model === "small-8b",
    ],
  ];
  for (const [filter, matches] of filters) {
    const words = JSON.stringify(filter);
    const expected = rows.filter(matches).toReversed();
    const ids = expected.map(({ id }) => id);
    assert.deepEqual(await readAllPages(person, filter), ids, words);
    assert.deepEqual(await readAllPages(person, { ...filter, sort: "oldest" }), ids.toReversed(), words);
    const from = new Date(start).toISOString();
    const byTokens = expected.toSorted((a, b) => b.completionTokens - a.completionTokens || (a.id < b.id ? 1 : -1));
    assert.deepEqual(
      await readAllPages(person, { ...filter, from, sort: "tokens" }),
      byTokens.map(({ id }) => id),
      words,
    );
    const byCost = expected.toSorted((a, b) => Number(b.charge - a.charge) || (a.id < b.id ? 1 : -1));
    assert.deepEqual(
      await readAllPages(person, { ...filter, from, sort: "cost" }),
      byCost.map(({ id }) => id),
      words,
    );
    const query = new URLSearchParams(filter);
    const totals = (await person.browser.send("GET", `${URL}/totals?${query}`)).body;
    assert.equal(totals.requests, ids.length, words);
    const file = await person.browser.send("GET", `${URL}.csv?${query}`);
    assert.equal(file.text.trimEnd().split("\r\n").length, 1 + ids.length, words);
    for (const [to, bucket] of [
      [new Date(start + 60 * 60_000), 60],
      [new Date(start + 40 * HOUR_MS), 3600],
    ] as const) {
      const span = new URLSearchParams({ ...filter, from, to: to.toISOString() });
      const { status, body, text } = await person.browser.send("GET", `${URL}/histogram?${span}`);
      assert.equal(status, 200, text);
      assert.equal(body.bucket_s, bucket);
      const counts = new Map<string, number>();
      for (const { at, outcome } of expected) {
        const key = `${Math.floor(at.getTime() / 1000 / bucket) * bucket} ${outcome}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
      const data = body.data as { at: number; outcome: string; requests: number }[];
      assert.deepEqual(new Map(data.map((one) => [`${one.at} ${one.outcome}`, one.requests])), counts, words);
    }
  }
});

test("a page that reaches the search limit returns its position, and the next page continues from there", async () => {
  const { person, account, rows } = await withMeasures(40);
  const { history } = platform.parts;
  const { search } = history;
  history.search = (id, page) => search(id, page, 9);
  try {
    const [found, searched]: [string[], number[]] = [[], []];
    for (let cursor: unknown; cursor !== null; ) {
      const more = cursor === undefined ? {} : { cursor: String(cursor) };
      const page = await getRequests(person, { charge_micro_min: "3", limit: "4", ...more });
      assert.equal(page.status, 200, page.text);
      found.push(...idsOf(page));
      if (page.body.searched_to !== undefined) searched.push(Number(page.body.searched_to));
      cursor = page.body.next_cursor;
    }
    const expected = rows.filter(({ charge }) => charge > 3_000_000n).map(({ id }) => id);
    assert.deepEqual(found, expected.toReversed());
    // Each search reads nine of forty requests. The fifth has fewer left, so it returns no position.
    assert.deepEqual(
      searched,
      [9, 18, 27, 36].map((count) => Math.floor((rows.at(-count) as Measured).at.getTime() / 1000)),
    );
    assert.equal((await search(account, { limit: 5, measures: { cost: { min: 3_000_000n } } }, 40)).reached, undefined);
  } finally {
    history.search = search;
  }
});

test("a search sorted by cost with a filter that no index covers reads a bounded part at a time, however many requests the account has", async () => {
  const { person, rows } = await withMeasures(40);
  const { history } = platform.parts;
  const { searchByCost } = history;
  history.searchByCost = (id, page) => searchByCost(id, page, 9);
  try {
    const [found, searched]: [string[], unknown[]] = [[], []];
    for (let cursor: unknown; cursor !== null; ) {
      const more = cursor === undefined ? {} : { cursor: String(cursor) };
      const page = await getRequests(person, { sort: "cost", not_label: "none", tokens_min: "0", limit: "4", ...more });
      assert.equal(page.status, 200, page.text);
      found.push(...idsOf(page));
      if (page.body.searched_to_charge_micro !== undefined) searched.push(page.body.searched_to_charge_micro);
      cursor = page.body.next_cursor;
    }
    const byCost = rows.toSorted((a, b) => Number(b.charge - a.charge) || (a.id < b.id ? 1 : -1));
    assert.deepEqual(
      found,
      byCost.map(({ id }) => id),
    );
    const none = await getRequests(person, { sort: "cost", not_label: "none", tokens_min: "1000000" });
    assert.deepEqual(idsOf(none), []);
    assert.equal(none.body.searched_to_charge_micro, formatExactMicrodollars(pico(byCost[8]?.charge ?? 0n)));
    assert.equal(typeof none.body.next_cursor, "string");
    assert.deepEqual(searched, []);
  } finally {
    history.searchByCost = searchByCost;
  }
});

test("counts over time include partial hours at both ends of the span, which ends now by default", async () => {
  const { person, rows } = await withMeasures(30);
  const [from, to] = [new Date(start + 7 * 60_000), new Date(start + 200 * HOUR_MS)];
  const { body } = await person.browser.send(
    "GET",
    `${URL}/histogram?from=${from.toISOString()}&to=${to.toISOString()}`,
  );
  assert.equal(body.bucket_s, 3600);
  assert.ok(Number(body.to) <= Date.now() / 1000, "no bucket lies in the future");
  const sum = (data: unknown): number =>
    (data as { requests: number }[]).reduce((all, { requests }) => all + requests, 0);
  assert.equal(sum(body.data), rows.length - 7);
  const all = (await person.browser.send("GET", `${URL}/histogram`)).body;
  assert.deepEqual([sum(all.data), all.from], [rows.length, start / 1000]);
  const none = await signInTestPerson(platform, [{ kind: "builder" }]);
  assert.deepEqual((await none.browser.send("GET", `${URL}/histogram`)).body.data, []);
});

test("refuses a filter that no rollup supports if it would search too many requests, except in a list by cost", async () => {
  const { person } = await withMeasures(60);
  const { history } = platform.parts;
  const { total, counts } = history;
  const from = new Date(start).toISOString();
  history.total = async () => ({ requests: 5_000_000, promptTokens: 0, completionTokens: 0, charge: pico(0n) });
  history.counts = (id, filter, { nowMs }) => counts(id, filter, { nowMs, recordsMax: 3 });
  const send = (path: string, query: Record<string, string>) =>
    person.browser.send("GET", `${URL}${path}?${new URLSearchParams(query)}`);
  try {
    assertRefused(await send("/totals", { tokens_min: "1" }), 400, "from");
    assertRefused(await send("/histogram", { tokens_min: "1" }), 400, "from");
    assert.equal((await send("", { sort: "cost", tokens_min: "1", from })).status, 200);
    assertRefused(await send("", { sort: "tokens", from }), 400, "from");
    assert.equal((await send("", { sort: "cost", charge_micro_min: "1", not_outcome: "ok" })).status, 200);
    assert.equal((await send("", { tokens_min: "1" })).status, 200);
    const hours = await send("/histogram", { from, to: new Date(start + 5 * HOUR_MS).toISOString() });
    assert.deepEqual([hours.status, hours.body.bucket_s], [200, 3600], "longer buckets, which the rollup knows");
  } finally {
    Object.assign(history, { total, counts });
  }
});

test("sorting by cost works for any number of requests, sorting by duration only up to the limit", async () => {
  const person = await signInTestPerson(platform, [{ kind: "builder" }]);
  const { history } = platform.parts;
  const { total } = history;
  history.total = async () => ({ requests: 5_000_000, promptTokens: 0, completionTokens: 0, charge: pico(0n) });
  try {
    assert.equal((await getRequests(person, { sort: "cost" })).status, 200);
    assert.equal((await getRequests(person, { sort: "cost", from: new Date(start).toISOString() })).status, 200);
    assertRefused(await getRequests(person, { sort: "duration", from: new Date(start).toISOString() }), 400, "from");
    assert.equal((await getRequests(person, { sort: "cost", label: "nightly", duration_ms_min: "1" })).status, 200);
  } finally {
    history.total = total;
  }
});
