/** Tests a builder's request history through the console. The tests are ordered by HTTP status. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars, pico } from "../../base/money.ts";
import { insertRefusedRequest, insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

const URL = "/console/api/requests";
const HOUR_MS = 3_600_000;

interface RequestObject {
  [field: string]: unknown;
  id: string;
}

let platform: TestPlatform;
let owner: Person;
let accountId: Uuid;
let [blue, green]: [Uuid, Uuid] = ["", ""] as [Uuid, Uuid];
/**
 * The test's requests, newest first. Every third has another model, every fifth failed, every second was made with the
 * key `green`.
 */
let past: { id: string; model: string; outcome: string; key: Uuid; at: Date }[] = [];
let start: number;
before(async () => {
  platform = await openTestPlatform();
  owner = await signInTestPerson(platform, [{ kind: "builder" }]);
  accountId = owner.accountIds[0] as Uuid;
  [blue, green] = [platform.newId(), platform.newId()];
  start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 40 * HOUR_MS;
  const rows = Array.from({ length: 60 }, (_, i) => ({
    model: i % 3 === 0 ? "small-8b" : "tiny-3b",
    outcome: i % 5 === 0 ? "upstream_failed" : "ok",
    key: i % 2 === 0 ? blue : green,
    at: new Date(start + i * (HOUR_MS / 2) + 1000),
  }));
  past = await Promise.all(
    rows.map(async (row) => ({
      ...row,
      id: publicId(
        "req",
        await insertServedRequest(platform, { ...row, accountId, keyId: row.key, charge: 1_500_000n }),
      ),
    })),
  );
  past.reverse();
});
after(() => platform.close());

const get = (query: Record<string, string> = {}, person = owner) =>
  person.browser.send("GET", `${URL}?${new URLSearchParams(query)}`);
const idsOf = (answer: { body: Record<string, unknown> }): string[] =>
  (answer.body.data as RequestObject[]).map(({ id }) => id);

/** Returns every page of a query, and checks that each but the last is full. */
async function allPages(query: Record<string, string>, limit = 7, person = owner): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: unknown; cursor !== null; ) {
    const more = cursor === undefined ? {} : { cursor: String(cursor) };
    const page = await get({ ...query, limit: String(limit), ...more }, person);
    assert.equal(page.status, 200, page.text);
    const ids = idsOf(page);
    cursor = page.body.next_cursor;
    if (cursor !== null) assert.equal(ids.length, limit);
    found.push(...ids);
  }
  return found;
}

describe("status 200", () => {
  test("returns a request with its exact charge and all fields for the builder, but without node or host", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    const host = await signInTestPerson(platform, [{ kind: "host" }]);
    const nodeId = platform.newId();
    const id = await insertServedRequest(platform, {
      accountId: person.accountIds[0] as Uuid,
      keyId: blue,
      keyName: "production",
      hold: 9_830_400_000n,
      charge: 1_234_567n,
      promptTokens: 11,
      completionTokens: 22,
      host: { accountId: host.accountIds[0] as Uuid, nodeId },
    });
    const answer = await person.browser.send("GET", `${URL}/${publicId("req", id)}`);
    assert.equal(answer.status, 200);
    const { created_at, finished_at, ...record } = answer.body;
    assert.ok(Number.isInteger(created_at) && Number(finished_at) >= Number(created_at));
    assert.deepEqual(record, {
      id: publicId("req", id),
      object: "request",
      key: { id: publicId("key", blue), name: "production" },
      endpoint: "chat",
      model: "tiny-3b",
      build: "a build",
      tokenizer: "a tokenizer",
      stream: false,
      outcome: "ok",
      http_status: 200,
      finish_reason: "stop",
      usage: { prompt_tokens: 11, completion_tokens: 22, reasoning_tokens: 1 },
      hold_micro: "9830.400000",
      charge_micro: "1.234567",
      refund_micro: "9829.165433",
      price_version: 1,
      attempts: 1,
      queue_ms: 2,
      ttft_ms: 30,
      duration_ms: 400,
      client: "openai-js",
      label: null,
      count: 1,
      attempt_list: [],
    });
    const listed = await get({}, person);
    assert.deepEqual({ ...(listed.body.data as object[])[0], attempt_list: [] }, answer.body);
    for (const secret of [publicId("node", nodeId), nodeId, publicId("acc", host.accountIds[0] as Uuid)]) {
      assert.ok(!answer.text.includes(secret) && !listed.text.includes(secret));
    }
  });

  test("returns every attempt of a request that was tried again, with the nodes only for operators", async () => {
    const [person, host, operator] = [
      await signInTestPerson(platform, [{ kind: "builder" }]),
      await signInTestPerson(platform, [{ kind: "host" }]),
      await signInTestPerson(platform, [], { operator: true }),
    ];
    const id = await insertServedRequest(platform, { accountId: person.accountIds[0] as Uuid, charge: 1n });
    const nodeIds: Uuid[] = [];
    for (const name of ["silent", "garage"]) {
      const registered = { name, hardware: {}, agent: "" };
      nodeIds.push((await platform.parts.fleet.register(host.accountIds[0] as Uuid, registered)).id);
    }
    const [silent, garage] = nodeIds as [Uuid, Uuid];
    platform.parts.requestAttempts.note(id, [
      { nodeId: silent, end: "quiet", offeredMs: 1, acceptedMs: 4, firstOutputMs: null, endedMs: 2004 },
      { nodeId: garage, end: "finished", offeredMs: 2005, acceptedMs: 2009, firstOutputMs: 2100, endedMs: 2600 },
    ]);
    await platform.parts.requestAttempts.flush();
    const attempts = [
      { outcome: "quiet", offered_ms: 1, accepted_ms: 4, first_token_ms: null, ended_ms: 2004 },
      { outcome: "finished", offered_ms: 2005, accepted_ms: 2009, first_token_ms: 2100, ended_ms: 2600 },
    ];
    const read = async ({ browser }: Person, path: string) =>
      (await browser.send("GET", `/console/api/${path}/${publicId("req", id)}`)).body.attempt_list;
    assert.deepEqual(await read(person, "requests"), attempts);
    assert.deepEqual(await read(operator, "operator/requests"), [
      { ...attempts[0], node: { id: publicId("node", silent), name: "silent" } },
      { ...attempts[1], node: { id: publicId("node", garage), name: "garage" } },
    ]);
    await platform.parts.requestAttempts.prune(new Date(Date.now() + HOUR_MS));
    assert.deepEqual(await read(person, "requests"), []);
  });

  test("returns a request that was refused with 429, with its error code and without model and charge", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    await insertRefusedRequest(platform, { accountId: person.accountIds[0] as Uuid, outcome: "rate_limit_tokens" });
    const [record] = (await get({}, person)).body.data as RequestObject[];
    const { outcome, http_status, model, stream, charge_micro, hold_micro, finish_reason } = record as RequestObject;
    assert.deepEqual(
      { outcome, http_status, model, stream, charge_micro, hold_micro, finish_reason },
      {
        stream: null,
        outcome: "rate_limit_tokens",
        http_status: 429,
        model: null,
        charge_micro: "0.000000",
        hold_micro: "0.000000",
        finish_reason: null,
      },
    );
  });

  test("lists 50 requests per page by default, newest first, without gaps or repetitions", async () => {
    const page = await get();
    assert.deepEqual([page.body.object, idsOf(page).length], ["list", 50]);
    assert.deepEqual(
      await allPages({}),
      past.map(({ id }) => id),
    );
    assert.deepEqual(
      await allPages({}, 100),
      past.map(({ id }) => id),
    );
  });

  test("returns the matching requests for each filter, alone and combined, in pages", async () => {
    const [from, to] = [new Date(start + 10 * HOUR_MS), new Date(start + 20 * HOUR_MS)];
    const spans = [{}, { from: from.toISOString(), to: String(to.getTime() / 1000) }];
    const filters: Record<string, string>[] = [
      {},
      { model: "small-8b" },
      { key: publicId("key", green) },
      { outcome: "upstream_failed" },
      { model: "tiny-3b", key: publicId("key", blue), outcome: "ok" },
      { model: "large-70b" },
      { outcome: "no_capacity" },
      { key: publicId("key", platform.newId()) },
    ];
    for (const filter of filters) {
      for (const span of spans) {
        const inSpan = (at: Date): boolean => !("from" in span) || (at >= from && at < to);
        const expected = past
          .filter(({ at }) => inSpan(at))
          .filter(({ model }) => filter.model === undefined || model === filter.model)
          .filter(({ outcome }) => filter.outcome === undefined || outcome === filter.outcome)
          .filter(({ key }) => filter.key === undefined || publicId("key", key) === filter.key)
          .map(({ id }) => id);
        assert.deepEqual(await allPages({ ...filter, ...span }), expected, JSON.stringify({ ...filter, ...span }));
      }
    }
  });

  test("the filter key=playground returns requests with the playground keys of all sessions in this account", async () => {
    const [person, other] = [
      await signInTestPerson(platform, [{ kind: "builder" }]),
      await signInTestPerson(platform, [{ kind: "builder" }]),
    ];
    const [account, theirs] = [person.accountIds[0] as Uuid, other.accountIds[0] as Uuid];
    const keyOf = async (browser: Person["browser"]): Promise<Uuid> =>
      parseId("key", String((await browser.send("POST", "/console/api/playground/key")).body.id)) as Uuid;
    const first = await keyOf(person.browser);
    await person.browser.enter(platform, person.identityId);
    const second = await keyOf(person.browser);
    assert.notEqual(first, second);
    await platform.pool.query("update api_key set revoked_at = now() where id = $1", [first]);
    assert.deepEqual(await allPages({ key: "playground" }, 7, person), []);
    const ids: string[] = [];
    for (const keyId of [first, second, first]) {
      ids.unshift(publicId("req", await insertServedRequest(platform, { accountId: account, keyId, charge: 1_000n })));
    }
    await insertServedRequest(platform, { accountId: account, keyId: blue, charge: 1_000n });
    await insertServedRequest(platform, { accountId: theirs, keyId: await keyOf(other.browser), charge: 1_000n });
    assert.deepEqual((await allPages({ key: "playground" }, 2, person)).toSorted(), ids.toSorted());
    const { body } = await person.browser.send("GET", `${URL}/totals?key=playground`);
    assert.equal(body.requests, 3);
  });

  test("returns all requests for a start time before 1970", async () => {
    for (const time of ["1969-12-31", "0000-01-01"]) {
      for (const filter of [{}, { outcome: "ok" }] as Record<string, string>[]) {
        assert.deepEqual(await allPages({ ...filter, from: time }), await allPages(filter), time);
        assert.deepEqual(await allPages({ ...filter, to: time }), [], time);
      }
    }
  });

  test("excludes requests made during paging from the following pages", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    const [account] = person.accountIds as [Uuid];
    const older = [
      await insertServedRequest(platform, { accountId: account }),
      await insertServedRequest(platform, { accountId: account }),
    ];
    const first = await get({ limit: "1" }, person);
    await insertServedRequest(platform, { accountId: account });
    const second = await get({ limit: "1", cursor: String(first.body.next_cursor) }, person);
    assert.deepEqual([...idsOf(first), ...idsOf(second)].sort(), older.map((id) => publicId("req", id)).sort());
    assert.equal(second.body.next_cursor, null);
  });
});

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
      const found = await allPages({ sort, from, ...filter }, 7, person);
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
      { not_key: publicId("key", blue), tokens_min: "400", model: "small-8b" },
      (row) => row.completionTokens >= 397 && row.model === "small-8b",
    ],
  ];
  for (const [filter, matches] of filters) {
    const words = JSON.stringify(filter);
    const expected = rows.filter(matches).toReversed();
    const ids = expected.map(({ id }) => id);
    assert.deepEqual(await allPages(filter, 7, person), ids, words);
    assert.deepEqual(await allPages({ ...filter, sort: "oldest" }, 7, person), ids.toReversed(), words);
    const from = new Date(start).toISOString();
    const byTokens = expected.toSorted((a, b) => b.completionTokens - a.completionTokens || (a.id < b.id ? 1 : -1));
    assert.deepEqual(
      await allPages({ ...filter, from, sort: "tokens" }, 7, person),
      byTokens.map(({ id }) => id),
      words,
    );
    const byCost = expected.toSorted((a, b) => Number(b.charge - a.charge) || (a.id < b.id ? 1 : -1));
    assert.deepEqual(
      await allPages({ ...filter, from, sort: "cost" }, 7, person),
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
      const page = await get({ charge_micro_min: "3", limit: "4", ...more }, person);
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

test("sorting by cost with a filter that the index lacks searches page by page, at any size", async () => {
  const { person, rows } = await withMeasures(40);
  const { history } = platform.parts;
  const { searchByCost } = history;
  history.searchByCost = (id, page) => searchByCost(id, page, 9);
  try {
    const [found, searched]: [string[], unknown[]] = [[], []];
    for (let cursor: unknown; cursor !== null; ) {
      const more = cursor === undefined ? {} : { cursor: String(cursor) };
      const page = await get({ sort: "cost", not_label: "none", tokens_min: "0", limit: "4", ...more }, person);
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
    const none = await get({ sort: "cost", not_label: "none", tokens_min: "1000000" }, person);
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

describe("status 400", () => {
  test("refuses a filter that no rollup supports if it would search too many requests, except in a list by cost", async () => {
    const { history } = platform.parts;
    const { total, counts } = history;
    const from = new Date(start).toISOString();
    history.total = async () => ({ requests: 5_000_000, promptTokens: 0, completionTokens: 0, charge: pico(0n) });
    history.counts = (id, filter, { nowMs }) => counts(id, filter, { nowMs, recordsMax: 3 });
    const send = (path: string, query: Record<string, string>) =>
      owner.browser.send("GET", `${URL}${path}?${new URLSearchParams(query)}`);
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

  test("refuses a cursor that is forged, modified, or from another account or list (invalid_cursor)", async () => {
    const stranger = await signInTestPerson(platform, [{ kind: "builder" }]);
    const [theirs] = stranger.accountIds as [Uuid];
    for (let i = 0; i < 3; i++) await insertServedRequest(platform, { accountId: theirs, charge: 1n });
    const cursorOf = async (url: string, person: Person) =>
      String((await person.browser.send("GET", `${url}?limit=1`)).body.next_cursor);
    const mine = await cursorOf(URL, owner);
    const bytes = Buffer.from(mine, "base64url");
    bytes[3] = (bytes[3] as number) ^ 1;
    const id = parseId("req", past[5]?.id as string);
    for (const cursor of [
      "",
      "abc",
      "%00",
      mine.slice(0, -1),
      `${mine}AA`,
      bytes.toString("base64url"),
      Buffer.from(String(id)).toString("base64url"),
      Buffer.concat([Buffer.alloc(12), Buffer.from(String(id))]).toString("base64url"),
      await cursorOf(URL, stranger),
      await cursorOf("/console/api/ledger", stranger),
      await cursorOf("/console/api/ledger", owner),
    ]) {
      const answer = await owner.browser.send("GET", `${URL}?cursor=${cursor}`);
      assertRefused(answer, 400, "invalid_cursor");
    }
    assert.equal((await get({ cursor: mine })).status, 200, "while the true one works");
  });

  test("names an invalid field and its rule", async () => {
    for (const [query, param, rule] of [
      [{ limit: "0" }, "limit", /from 1 to 100/],
      [{ limit: "101" }, "limit", /from 1 to 100/],
      [{ limit: "ten" }, "limit", /from 1 to 100/],
      [{ limit: "" }, "limit", /from 1 to 100/],
      [{ from: "yesterday" }, "from", /must be a time/],
      [{ to: "2026-11-15T06:30" }, "to", /must be a time/],
      [{ from: "2026-11-15", to: "2026-11-14" }, "to", /^"to" must not be before "from"$/],
      [{ key: "production" }, "key", /key_….* or playground$/],
      [{ key: past[0]?.id as string }, "key", /key_/],
      [{ not_key: "playground,production" }, "not_key", /key_….* or playground$/],
      [{ model: Array(21).fill("tiny-3b").join(",") }, "model", /at most 20 names/],
      [{ tokens_min: "1.5" }, "tokens_min", /whole number from 0 to 9999999999/],
      [{ ttft_ms_max: "-1" }, "ttft_ms_max", /whole number/],
      [{ charge_micro_min: "0.0000001" }, "charge_micro_min", /microdollars/],
      [{ charge_micro_min: "2", charge_micro_max: "1.5" }, "charge_micro_max", /must not be below "charge_micro_min"/],
      [{ duration_ms_min: "2", duration_ms_max: "1" }, "duration_ms_max", /must not be below "duration_ms_min"/],
      [{ not_label: "" }, "not_label", /must not be empty/],
    ] as const) {
      // The CSV file has no `limit`, because it has no pages.
      for (const url of param === "limit" ? [URL] : [URL, "/console/api/requests.csv"]) {
        const answer = await owner.browser.send("GET", `${url}?${new URLSearchParams(query)}`);
        assertRefused(answer, 400, param);
        assert.match(String(answer.body.error?.message), rule);
      }
    }
  });
});

describe("status 404", () => {
  test("returns the same not_found for another account's request, an unknown request and an invalid ID", async () => {
    const stranger = await signInTestPerson(platform, [{ kind: "builder" }]);
    const theirs = past[0]?.id as string;
    const bodies: unknown[] = [];
    for (const id of [theirs, publicId("req", platform.newId()), "req_1", "nonsense", theirs.toUpperCase()]) {
      for (const path of ["", "/receipt"]) {
        const answer = await stranger.browser.send("GET", `${URL}/${id}${path}`);
        assertRefused(answer, 404, "not_found");
        bodies.push(answer.body);
      }
    }
    for (const body of bodies) assert.deepEqual(body, bodies[0]);
    assert.equal((await owner.browser.send("GET", `${URL}/${theirs}`)).status, 200);
  });
});

describe("status 422", () => {
  test("refuses a filter by a model outside the catalogue, for the list and the CSV file (unknown_model)", async () => {
    for (const model of ["gpt-9", "", "TINY-3B", "constructor", "tiny-3b "]) {
      for (const url of [URL, "/console/api/requests.csv"]) {
        const answer = await owner.browser.send("GET", `${url}?${new URLSearchParams({ model })}`);
        assertRefused(answer, 422, "unknown_model");
      }
    }
    assert.equal((await get({ model: "large-70b" })).status, 200, "a coming model is in the catalogue");
  });

  test("refuses a filter by an unknown outcome, for the list and the CSV file (unknown_outcome)", async () => {
    for (const outcome of ["bogus", "", "OK", "constructor", "ok ", "a\u0000b"]) {
      for (const url of [URL, "/console/api/requests.csv"]) {
        const answer = await owner.browser.send("GET", `${url}?${new URLSearchParams({ outcome })}`);
        assertRefused(answer, 422, "unknown_outcome");
      }
    }
    assert.equal((await get({ outcome: "gateway_lost" })).status, 200, "one that nothing had so far");
  });
});

test("sorting by cost works for any number of requests, sorting by duration only up to the limit", async () => {
  const { history } = platform.parts;
  const { total } = history;
  history.total = async () => ({ requests: 5_000_000, promptTokens: 0, completionTokens: 0, charge: pico(0n) });
  try {
    assert.equal((await get({ sort: "cost" })).status, 200);
    assert.equal((await get({ sort: "cost", from: new Date(start).toISOString() })).status, 200);
    assertRefused(await get({ sort: "duration", from: new Date(start).toISOString() }), 400, "from");
    assert.equal((await get({ sort: "cost", label: "nightly", duration_ms_min: "1" })).status, 200);
  } finally {
    history.total = total;
  }
});

test("every page shows the same number of requests and the same charge for the same range, for account and operator", async () => {
  const person = await signInTestPerson(platform, [{ kind: "builder" }]);
  const operator = await signInTestPerson(platform, [], { operator: true });
  const account = person.accountIds[0] as Uuid;
  const days = [0.1, 0.9, 1, 1.1, 2.5, 4, 6.4];
  for (const [i, ago] of days.entries()) {
    await insertServedRequest(platform, {
      accountId: account,
      keyId: i % 2 === 0 ? blue : green,
      model: i % 3 === 0 ? "small-8b" : "tiny-3b",
      outcome: i === 4 ? "upstream_failed" : "ok",
      ...(i === 2 && { label: "batch" }),
      charge: 1_333_333n * BigInt(i + 1),
      at: new Date(Date.now() - ago * 24 * HOUR_MS),
    });
  }
  await platform.rollUp();
  const read = async ({ browser }: Person, path: string) => {
    const { status, body, text } = await browser.send("GET", `/console/api/${path}`);
    assert.equal(status, 200, text);
    return body as Record<string, unknown>;
  };
  const ofAccount = `operator/accounts/${publicId("acc", account)}`;
  const activity = await read(operator, `${ofAccount}/activity?range=7d`);
  const [from, to] = [Number(activity.from), Number(activity.to)].map((at) => new Date(at * 1000).toISOString());
  const span = `from=${from}&to=${to}`;
  type Sum = { requests: number | null; charge_micro?: string; amount_micro?: string; kind?: string };
  const total = (rows: unknown): [number, bigint] => {
    const sums = rows as Sum[];
    const micro = (text = "0"): bigint => BigInt(text.replace(".", "").replace("-", ""));
    return [
      sums.reduce((sum, { requests }) => sum + Number(requests), 0),
      sums.reduce((sum, { charge_micro, amount_micro }) => sum + micro(charge_micro ?? amount_micro), 0n),
    ];
  };
  const platformFigures = await read(operator, "operator/performance?range=7d");
  const spenders = platformFigures.top_accounts as (Sum & { account: string })[];
  const shown: Record<string, unknown> = {
    "the account page's total": [activity.total],
    "the account page's chart": activity.series,
    "the account page's models": activity.models,
    "the platform page's spender": spenders.filter(({ account: id }) => id === publicId("acc", account)),
    "the request list's totals": [await read(person, `requests/totals?${span}`)],
    "the request list": ((await read(person, `requests?${span}`)).data as Sum[]).map((one) => ({
      ...one,
      requests: 1,
    })),
  };
  for (const by of ["key", "model", "outcome", "day", "hour", "label"]) {
    shown[`usage by ${by}`] = (await read(person, `usage?by=${by}&${span}`)).data;
  }
  for (const [name, path, who] of [
    ["the statement", "statement", person],
    ["the operator's statement", `${ofAccount}/statement`, operator],
  ] as const) {
    shown[name] = ((await read(who, path)).data as Sum[]).filter(({ kind }) => kind === "usage");
  }
  const expected = [days.length, 1_333_333n * BigInt((days.length * (days.length + 1)) / 2)];
  for (const [name, rows] of Object.entries(shown)) assert.deepEqual(total(rows), expected, name);
});
