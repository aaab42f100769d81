/**
 * Tests operators' actions on accounts. The tests are ordered by HTTP status. Each action must also be in the audit
 * log.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import { dollars } from "../../../base/money.ts";
import { startOfMonth } from "../../../base/time.ts";
import { checkLedger } from "../../../ledger/check.ts";
import { readLatestAuditEntries } from "../../testing/audit-log.ts";
import { insertServedRequest } from "../../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../../testing/sign-in-test-person.ts";

const ACCOUNTS = "/console/api/operator/accounts";
const KEYS = "/console/api/operator/keys";

let platform: TestPlatform;
let operator: Person;
let builder: Person;
let account: string;
before(async () => {
  platform = await openTestPlatform();
  operator = await signInTestPerson(platform, [], { operator: true });
  builder = await signInTestPerson(platform, [{ kind: "builder" }]);
  account = publicId("acc", builder.accountIds[0] as Uuid);
});
after(() => platform.close());

const send = (...args: Parameters<Person["browser"]["send"]>) => operator.browser.send(...args);
const post = (path: string, body: unknown) => send("POST", `${ACCOUNTS}/${path}`, { body });
const newKey = async ({ browser }: Person): Promise<string> =>
  String((await browser.send("POST", "/console/api/keys", { body: { name: "a key" } })).body.id);

describe("status 200", () => {
  test("finds accounts by name, owner and kind, in pages, newest first", async () => {
    const people = await Promise.all([1, 2, 3].map(() => platform.person([{ kind: "builder" }, { kind: "host" }])));
    await platform.pool.query("update account set name = 'Findable 100% ' || id where id = any ($1)", [
      people.flatMap(({ accountIds }) => accountIds),
    ]);
    const found: { id: string; kind: string }[] = [];
    for (let cursor: unknown; cursor !== null; ) {
      const more = cursor === undefined ? "" : `&cursor=${cursor}`;
      const { body } = await send("GET", `${ACCOUNTS}?q=findable 100%25&kind=host&limit=2${more}`);
      found.push(...(body.data as typeof found));
      cursor = body.next_cursor;
    }
    const hosts = people.map(({ accountIds }) => publicId("acc", accountIds[1] as Uuid)).sort();
    assert.deepEqual(
      found.map(({ id }) => id),
      hosts.reverse(),
    );
    const byOwner = await send("GET", `${ACCOUNTS}?q=${encodeURIComponent(people[0]?.email ?? "")}`);
    assert.equal((byOwner.body.data as object[]).length, 2);
    assert.deepEqual((await send("GET", `${ACCOUNTS}?q=nobody at all`)).body.data, []);
  });

  test("shows one account with its balances and keys, without secrets", async () => {
    const key = await newKey(builder);
    const { created_at, as_of, ...shown } = (await send("GET", `${ACCOUNTS}/${account}`)).body;
    assert.equal(typeof as_of, "number");
    assert.deepEqual(shown, {
      id: account,
      object: "account",
      kind: "builder",
      name: "A builder",
      owners: [builder.email],
      members: [],
      balance_micro: "5000000.000000",
      held_micro: "0.000000",
      suspended_at: null,
      deleted_at: null,
    });
    const keys = await send("GET", `${ACCOUNTS}/${account}/keys`);
    assert.ok((keys.body.data as { id: string }[]).some(({ id }) => id === key));
    assert.doesNotMatch(keys.text, /"secret"|tsk_live_\w{12}_/);
  });

  test("credits a grant immediately, with its reason on the statement and the operator in the audit log", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    const id = publicId("acc", person.accountIds[0] as Uuid);
    const answer = await post(`${id}/grant`, { amount_micro: "1500000", reason: " for the outage " });
    assert.deepEqual([answer.status, answer.body.balance_micro], [200, "6500000.000000"]);
    assert.equal((await post(`${id}/grant`, { amount_micro: 1, reason: "a little more" })).status, 200);
    const { body } = await person.browser.send("GET", "/console/api/balance");
    assert.equal(body.balance_micro, "6500001.000000");
    const ledger = (await person.browser.send("GET", "/console/api/ledger")).body.data as Record<string, unknown>[];
    assert.deepEqual(
      ledger.slice(0, 2).map(({ kind, amount_micro, reason }) => ({ kind, amount_micro, reason })),
      [
        { kind: "grant", amount_micro: "1.000000", reason: "a little more" },
        { kind: "grant", amount_micro: "1500000.000000", reason: "for the outage" },
      ],
    );
    assert.deepEqual((await readLatestAuditEntries(operator, 2))[1], {
      operator: operator.email,
      action: "account.grant",
      subject: id,
      subject_name: "A builder",
      subject_account: null,
      details: { amount_micro: "1500000.000000", reason: "for the outage" },
      outcome: "done",
    });
    assert.ok((await checkLedger(platform.pool)).every(({ differences }) => differences.length === 0));
  });

  test("suspends and restores an account with immediate effect for its owner; a repetition changes nothing", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    const id = publicId("acc", person.accountIds[0] as Uuid);
    const suspended = await post(`${id}/suspend`, { reason: "unpaid" });
    assert.ok(Number(suspended.body.suspended_at) > 0);
    assertRefused(await person.browser.send("GET", "/console/api/balance"), 403, "account_suspended");
    assert.equal((await post(`${id}/suspend`, { reason: "unpaid" })).body.suspended_at, suspended.body.suspended_at);
    assert.equal((await post(`${id}/restore`, { reason: "paid" })).body.suspended_at, null);
    assert.equal((await person.browser.send("GET", "/console/api/balance")).status, 200);
    assert.deepEqual(
      (await readLatestAuditEntries(operator, 3)).map(({ action, subject, details, outcome }) => ({
        action,
        subject,
        details,
        outcome,
      })),
      [
        { action: "account.restore", subject: id, details: { reason: "paid" }, outcome: "done" },
        { action: "account.suspend", subject: id, details: { reason: "unpaid" }, outcome: "done" },
        { action: "account.suspend", subject: id, details: { reason: "unpaid" }, outcome: "done" },
      ],
    );
  });

  test("sets limits of a single key; null resets a limit, and an absent field keeps its limit", async () => {
    const key = await newKey(builder);
    const default_limits = { requests_per_minute: 600, tokens_per_minute: 2_000_000, in_flight: 64 };
    const none = { requests_per_minute: null, tokens_per_minute: null, in_flight: null };
    const shown = async ({ browser }: Person, url: string) => {
      const keys = (await browser.send("GET", url)).body.data as { [field: string]: unknown; id: string }[];
      const found = keys.find(({ id }) => id === key);
      return { limits: found?.limits, own_limits: found?.own_limits, default_limits: found?.default_limits };
    };
    for (const [body, limits, own_limits] of [
      [
        { requests_per_minute: 5, tokens_per_minute: 0, in_flight: 999_999_999 },
        { requests_per_minute: 5, tokens_per_minute: 0, in_flight: 999_999_999 },
        { requests_per_minute: 5, tokens_per_minute: 0, in_flight: 999_999_999 },
      ],
      [{ in_flight: 2 }, { ...default_limits, in_flight: 2 }, { ...none, in_flight: 2 }],
      [{ ...none, requests_per_minute: 600 }, default_limits, { ...none, requests_per_minute: 600 }],
      [none, default_limits, none],
    ] as const) {
      const set = await send("PUT", `${KEYS}/${key}/limits`, { body });
      const due = { limits, own_limits, default_limits };
      assert.deepEqual([set.status, set.body], [200, { object: "key_limits", id: key, ...due }]);
      assert.deepEqual(await shown(operator, `${ACCOUNTS}/${account}/keys`), due);
      const theirs = await shown(builder, "/console/api/keys");
      assert.deepEqual(theirs, { limits, own_limits: undefined, default_limits: undefined });
    }
    const [last] = await readLatestAuditEntries(operator, 1);
    assert.deepEqual([last?.action, last?.subject, last?.outcome], ["key.limits", key, "done"]);
  });

  test("shows each key's spend of this month and its last use, as the key's owner sees them", async () => {
    const person = await signInTestPerson(platform, [{ kind: "builder" }]);
    const [accountId] = person.accountIds as [Uuid];
    const [used, unused] = [await newKey(person), await newKey(person)];
    const keyId = parseId("key", used) as Uuid;
    await insertServedRequest(platform, { accountId, keyId, charge: 1_234_567n });
    await insertServedRequest(platform, {
      accountId,
      keyId,
      charge: 7n,
      at: new Date(startOfMonth(Date.now()).getTime() - 1),
    });
    await platform.pool.query("update api_key set last_used_at = '2026-11-01T00:00:00Z' where id = $1", [keyId]);
    const { data } = (await send("GET", `${ACCOUNTS}/${publicId("acc", accountId)}/keys`)).body;
    assert.deepEqual(
      (data as Record<string, unknown>[]).map((key) => [key.id, key.spend_this_month, key.last_used_at]),
      [
        [unused, { requests: 0, charge_micro: "0.000000" }, null],
        [used, { requests: 1, charge_micro: "1.234567" }, Date.parse("2026-11-01T00:00:00Z") / 1000],
      ],
    );
    const own = (await person.browser.send("GET", "/console/api/keys")).body.data as object[];
    assert.deepEqual(
      (data as Record<string, unknown>[]).map(({ own_limits, default_limits, ...key }) => key),
      own,
    );
  });
});

describe("status 400", () => {
  test("names an invalid field and its rule, changes nothing, and adds nothing to the audit log", async () => {
    const key = await newKey(builder);
    const before = await readLatestAuditEntries(operator, 100);
    const money = async () => (await platform.ledger.balance(builder.accountIds[0] as Uuid))?.balance;
    const was = await money();
    const limits = (body: object) => send("PUT", `${KEYS}/${key}/limits`, { body });
    for (const [answer, param, rule] of [
      [await send("GET", `${ACCOUNTS}?kind=operator`), "kind", /builder or host/],
      [await send("GET", `${ACCOUNTS}?limit=0`), "limit", /1 to 100/],
      [await send("GET", `${ACCOUNTS}?q=${"x".repeat(201)}`), "q", /at most 200/],
      [await send("GET", `${ACCOUNTS}?q=%00`), "q", /control characters/],
      [await post(`${account}/grant`, { reason: "r" }), "amount_micro", /is required/],
      [await post(`${account}/grant`, { amount_micro: "0", reason: "r" }), "amount_micro", /from 1 to/],
      [await post(`${account}/grant`, { amount_micro: "-5", reason: "r" }), "amount_micro", /from 1 to/],
      [
        await post(`${account}/grant`, { amount_micro: 1.5, reason: "r" }),
        "amount_micro",
        /whole number of microdollars/,
      ],
      [await post(`${account}/grant`, { amount_micro: "1e3", reason: "r" }), "amount_micro", /from 1 to/],
      [await post(`${account}/grant`, { amount_micro: "1000000000001", reason: "r" }), "amount_micro", /from 1 to/],
      [await post(`${account}/grant`, { amount_micro: "5" }), "reason", /is required/],
      [
        await post(`${account}/grant`, { amount_micro: "5", reason: "  " }),
        "reason",
        /must not be empty: give the reason/,
      ],
      [await post(`${account}/suspend`, {}), "reason", /is required/],
      [await post(`${account}/suspend`, { reason: "x".repeat(201) }), "reason", /at most 200/],
      [await post(`${account}/restore`, { reason: 7 }), "reason", /must be a string/],
      [await post(`${account}/restore`, { reason: "a\u0000b" }), "reason", /control characters/],
      [await post(`${account}/suspend`, { reason: "half of a \ud83d" }), "reason", /unpaired surrogates/],
      [await limits({ in_flight: -1 }), "in_flight", /0 or more/],
      [await limits({ in_flight: 0.5 }), "in_flight", /whole number/],
      [await limits({ requests_per_minute: "7" }), "requests_per_minute", /whole number/],
      [await limits({ tokens_per_minute: 1_000_000_000 }), "tokens_per_minute", /999999999 or less/],
    ] as const) {
      assertRefused(answer, 400, param);
      assert.match(String(answer.body.error?.message), rule);
    }
    assert.deepEqual(await readLatestAuditEntries(operator, 100), before);
    assert.equal(await money(), was);
  });

  test("refuses a grant that exceeds the maximum balance, names the limit, and records the attempt in the audit log", async () => {
    const rich = await signInTestPerson(platform, [{ kind: "builder" }]);
    const [accountId] = rich.accountIds as [Uuid];
    const id = publicId("acc", accountId);
    const grant = () => post(`${id}/grant`, { amount_micro: "1000000000000", reason: "too much" });
    const answers = await Promise.all(Array.from({ length: 9 }, grant));
    assert.equal(answers.filter(({ status }) => status === 200).length, 8, "with the five dollars it had");
    const refused = await grant();
    assertRefused(refused, 400, "amount_micro");
    assert.match(String(refused.body.error?.message), /must not bring the balance above 9000000000000 microdollars/);
    assert.equal((await platform.ledger.balance(accountId))?.balance, dollars(8_000_005));
    const [last] = await readLatestAuditEntries(operator, 1);
    assert.deepEqual([last?.action, last?.subject, last?.outcome], ["account.grant", id, "failed"]);
  });

  test("refuses an invalid cursor", async () => {
    const audit = (await send("GET", "/console/api/operator/audit?limit=1")).body.next_cursor;
    for (const cursor of ["abc", audit]) {
      assertRefused(await send("GET", `${ACCOUNTS}?cursor=${cursor}`), 400, "invalid_cursor");
    }
  });
});

test("returns 403 not_a_builder for a grant to a host account", async () => {
  const host = await platform.person([{ kind: "host" }]);
  const id = publicId("acc", host.accountIds[0] as Uuid);
  assertRefused(await post(`${id}/grant`, { amount_micro: "5", reason: "r" }), 403, "not_a_builder");
  assert.equal((await platform.ledger.balance(host.accountIds[0] as Uuid))?.balance, 0n);
});

describe("returns 404 not_found", () => {
  test("for an unknown account", async () => {
    for (const id of [publicId("acc", platform.newId()), "acc_1", "nonsense", account.replace("acc_", "key_")]) {
      for (const answer of [
        await send("GET", `${ACCOUNTS}/${id}`),
        await send("GET", `${ACCOUNTS}/${id}/keys`),
        await post(`${id}/grant`, { amount_micro: "5", reason: "r" }),
        await post(`${id}/suspend`, { reason: "r" }),
        await post(`${id}/restore`, {}),
      ]) {
        assertRefused(answer, 404, "not_found");
      }
    }
  });

  test("for an unknown or revoked key, and records the attempt in the audit log", async () => {
    const revoked = await newKey(builder);
    await builder.browser.send("DELETE", `/console/api/keys/${revoked}`);
    for (const id of [publicId("key", platform.newId()), revoked]) {
      assertRefused(await send("PUT", `${KEYS}/${id}/limits`, { body: { in_flight: 1 } }), 404, "not_found");
      const [last] = await readLatestAuditEntries(operator, 1);
      assert.deepEqual([last?.action, last?.subject, last?.outcome], ["key.limits", id, "not_found"]);
    }
    assertRefused(await send("PUT", `${KEYS}/nonsense/limits`, { body: {} }), 404, "not_found");
    const { rows } = await platform.pool.query("select in_flight_max from api_key where id = $1", [
      parseId("key", revoked),
    ]);
    assert.deepEqual(rows, [{ in_flight_max: null }]);
  });
});
