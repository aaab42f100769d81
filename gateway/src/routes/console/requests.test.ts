/** A builder's request history through the console: pages, filters, and what is refused. Ordered by HTTP status. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { HOUR_MS } from "../../base/time.ts";
import { insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { getRequests, idsOf, readAllPages, REQUESTS_URL as URL } from "../testing/request-pages.ts";
import { assertRefused, type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

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

describe("status 200", () => {
  test("lists 50 requests per page by default, newest first, without gaps or repetitions", async () => {
    const page = await getRequests(owner);
    assert.deepEqual([page.body.object, idsOf(page).length], ["list", 50]);
    assert.deepEqual(
      await readAllPages(owner, {}),
      past.map(({ id }) => id),
    );
    assert.deepEqual(
      await readAllPages(owner, {}, 100),
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
        assert.deepEqual(
          await readAllPages(owner, { ...filter, ...span }),
          expected,
          JSON.stringify({ ...filter, ...span }),
        );
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
    assert.deepEqual(await readAllPages(person, { key: "playground" }), []);
    const ids: string[] = [];
    for (const keyId of [first, second, first]) {
      ids.unshift(publicId("req", await insertServedRequest(platform, { accountId: account, keyId, charge: 1_000n })));
    }
    await insertServedRequest(platform, { accountId: account, keyId: blue, charge: 1_000n });
    await insertServedRequest(platform, { accountId: theirs, keyId: await keyOf(other.browser), charge: 1_000n });
    assert.deepEqual((await readAllPages(person, { key: "playground" }, 2)).toSorted(), ids.toSorted());
    const { body } = await person.browser.send("GET", `${URL}/totals?key=playground`);
    assert.equal(body.requests, 3);
  });

  test("returns all requests for a start time before 1970", async () => {
    for (const time of ["1969-12-31", "0000-01-01"]) {
      for (const filter of [{}, { outcome: "ok" }] as Record<string, string>[]) {
        assert.deepEqual(await readAllPages(owner, { ...filter, from: time }), await readAllPages(owner, filter), time);
        assert.deepEqual(await readAllPages(owner, { ...filter, to: time }), [], time);
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
    const first = await getRequests(person, { limit: "1" });
    await insertServedRequest(platform, { accountId: account });
    const second = await getRequests(person, { limit: "1", cursor: String(first.body.next_cursor) });
    assert.deepEqual([...idsOf(first), ...idsOf(second)].sort(), older.map((id) => publicId("req", id)).sort());
    assert.equal(second.body.next_cursor, null);
  });
});

describe("status 400", () => {
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
    assert.equal((await getRequests(owner, { cursor: mine })).status, 200, "while the true one works");
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

describe("status 422", () => {
  test("refuses a filter by a model outside the catalogue, for the list and the CSV file (unknown_model)", async () => {
    for (const model of ["gpt-9", "", "TINY-3B", "constructor", "tiny-3b "]) {
      for (const url of [URL, "/console/api/requests.csv"]) {
        const answer = await owner.browser.send("GET", `${url}?${new URLSearchParams({ model })}`);
        assertRefused(answer, 422, "unknown_model");
      }
    }
    assert.equal((await getRequests(owner, { model: "large-70b" })).status, 200, "a coming model is in the catalogue");
  });

  test("refuses a filter by an unknown outcome, for the list and the CSV file (unknown_outcome)", async () => {
    for (const outcome of ["bogus", "", "OK", "constructor", "ok ", "a\u0000b"]) {
      for (const url of [URL, "/console/api/requests.csv"]) {
        const answer = await owner.browser.send("GET", `${url}?${new URLSearchParams({ outcome })}`);
        assertRefused(answer, 422, "unknown_outcome");
      }
    }
    assert.equal((await getRequests(owner, { outcome: "gateway_lost" })).status, 200, "one that nothing had so far");
  });
});
