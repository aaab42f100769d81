/** Tests the operators' overview, the ledger check and the audit log. The tests are ordered by HTTP status. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { publicId, type Uuid } from "../../../base/ids.ts";
import { insertServedRequest } from "../../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../../testing/sign-in-test-person.ts";

const API = "/console/api/operator";

let platform: TestPlatform;
let operator: Person;
let builder: Uuid;
let host: Uuid;
before(async () => {
  platform = await openTestPlatform();
  operator = await signInTestPerson(platform, [], { operator: true });
  [builder, host] = (await platform.person([{ kind: "builder" }, { kind: "host" }])).accountIds as [Uuid, Uuid];
  await platform.pool.query("insert into price values (1, 'tiny-3b', 20000, 40000) on conflict do nothing");
});
after(() => platform.close());

const get = (path: string) => operator.browser.send("GET", `${API}/${path}`);

describe("status 200", () => {
  test("returns balances, accounts, nodes, capacity, and the span's traffic by hour and outcome", async () => {
    const at = new Date(Date.now() - 2 * 3_600_000);
    const nodeId = platform.newId();
    // Makes all credit bought credit, because a host is not paid when its own owner spends granted credit on it.
    await platform.pool.query("update ledger_account set granted = 0 where id = $1", [builder]);
    const tokens = { promptTokens: 3, completionTokens: 5, charge: 260_000n };
    await insertServedRequest(platform, { accountId: builder, at, ...tokens, host: { accountId: host, nodeId } });
    await insertServedRequest(platform, {
      accountId: builder,
      at,
      outcome: "no_capacity",
      completionTokens: 1,
      charge: 0n,
    });
    const { body, status } = await get("overview");
    assert.equal(status, 200);
    assert.deepEqual(body.money, {
      builder_credit_micro: "4999999.740000",
      held_micro: "0.000000",
      hosts_owed_micro: "0.182000",
      liabilities_micro: "4999999.922000",
      platform_revenue_micro: "0.078000",
    });
    assert.deepEqual(body.accounts, { builders: 1, hosts: 1, suspended: 0 });
    assert.deepEqual([body.holds, body.nodes], [0, {}]);
    assert.equal((body.capacity as object[]).length, 6);
    const hour = Math.floor(at.getTime() / 3_600_000) * 3600;
    const none = { prompt_tokens: 3, completion_tokens: 1, charge_micro: "0.000000" };
    assert.deepEqual(body.traffic, [
      { hour, outcome: "no_capacity", requests: 1, ...none },
      { hour, outcome: "ok", requests: 1, prompt_tokens: 3, completion_tokens: 5, charge_micro: "0.260000" },
    ]);
    const { body: earlier } = await get("overview?from=2026-01-01&to=2026-01-31");
    assert.deepEqual([earlier.traffic, earlier.from, earlier.to], [[], 1767225600, 1769817600]);
  });

  test("runs the ledger check, which reports a manipulated balance", async () => {
    const good = await get("ledger/check");
    assert.deepEqual([good.status, good.body.balanced], [200, true]);
    const checks = good.body.checks as { name: string; checked: number; differences: string[] }[];
    assert.ok(checks.length > 10 && checks.every(({ differences }) => differences.length === 0));
    await platform.pool.query("update ledger_account set balance = balance + 1 where id = $1", [builder]);
    const bad = await get("ledger/check");
    await platform.pool.query("update ledger_account set balance = balance - 1 where id = $1", [builder]);
    assert.equal(bad.body.balanced, false);
    assert.equal(bad.body.asked_by, operator.email);
    const { books } = (await get("performance")).body as { books: { balanced: boolean; failed_checks: string[] } };
    assert.equal(books.balanced, false);
    assert.ok(books.failed_checks.includes("every balance is the sum of its entries"), books.failed_checks.join("; "));
    assert.match(JSON.stringify(bad.body.checks), new RegExp(`account ${builder}: balance`));
  });

  test("returns the audit log in pages, newest first, with operator, action, subject and outcome", async () => {
    const startedAt = Date.now();
    const url = `/console/api/operator/accounts/${publicId("acc", builder)}`;
    for (const reason of ["one", "two", "three"]) {
      assert.equal((await operator.browser.send("POST", `${url}/restore`, { body: { reason } })).status, 200);
    }
    const seen: Record<string, unknown>[] = [];
    for (let cursor: unknown; cursor !== null; ) {
      const { body } = await get(`audit?limit=2${cursor === undefined ? "" : `&cursor=${cursor}`}`);
      seen.push(...(body.data as Record<string, unknown>[]));
      cursor = body.next_cursor;
    }
    assert.deepEqual(
      seen.map(({ details }) => (details as { reason: string }).reason),
      ["three", "two", "one"],
    );
    const { at, details, ...act } = seen[0] as Record<string, unknown>;
    assert.ok(
      Number(at) >= Math.floor(startedAt / 1000) && Number(at) <= Date.now() / 1000 + 1,
      "in seconds, as it was done",
    );
    assert.deepEqual(act, {
      object: "operator_action",
      operator: operator.email,
      action: "account.restore",
      subject: publicId("acc", builder),
      subject_name: "A builder",
      subject_account: null,
      outcome: "done",
    });
  });
});

test("refuses time spans and page sizes outside their limits with 400", async () => {
  for (const [path, param] of [
    ["overview?from=then", "from"],
    ["overview?from=2026-01-01&to=2026-02-02", "from"],
    ["overview?from=2026-01-02&to=2026-01-01", "to"],
    ["performance?range=2h", "range"],
    ["audit?limit=101", "limit"],
    ["audit?outcome=good", "outcome"],
    ["audit?account=acme", "account"],
    ["audit.csv?from=then", "from"],
    ["audit?cursor=abc", "invalid_cursor"],
  ] as const) {
    assertRefused(await get(path), 400, param);
  }
});
