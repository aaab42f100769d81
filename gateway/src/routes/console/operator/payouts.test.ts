/**
 * Tests payout batches in the console (create, export, pay). The tests are ordered by HTTP status. The ledger must
 * balance afterwards.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { publicId, type Uuid } from "../../../base/ids.ts";
import { computeHostShare } from "../../../base/testing.ts";
import { checkLedger } from "../../../ledger/check.ts";
import { readLatestAuditEntries } from "../../testing/audit-log.ts";
import { insertServedRequest } from "../../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../../testing/sign-in-test-person.ts";

const PAYOUTS = "/console/api/operator/payouts";

let platform: TestPlatform;
let operator: Person;
let builder: Uuid;
before(async () => {
  platform = await openTestPlatform();
  operator = await signInTestPerson(platform, [], { operator: true });
  builder = (await platform.person([{ kind: "builder" }])).accountIds[0] as Uuid;
  await platform.pool.query("insert into price values (1, 'tiny-3b', 20000, 40000) on conflict do nothing");
});
after(() => platform.close());

/** A host that served one request with this many tokens. */
async function hostWith(tokens: number, name: string): Promise<{ host: Person; account: Uuid; earned: string }> {
  const host = await signInTestPerson(platform, [{ kind: "host" }]);
  const [account] = host.accountIds as [Uuid];
  await platform.pool.query("update account set name = $2 where id = $1", [account, name]);
  const charge = BigInt(tokens) * 40_000n;
  await insertServedRequest(platform, {
    accountId: builder,
    charge,
    promptTokens: 0,
    completionTokens: tokens,
    host: { accountId: account, nodeId: platform.newId() },
  });
  const share = computeHostShare(charge);
  const earned = `${share / 1_000_000n}.${String(share % 1_000_000n).padStart(6, "0")}`;
  return { host, account, earned };
}

const create = (body: unknown = {}) => operator.browser.send("POST", PAYOUTS, { body });

describe("status 201 and 200", () => {
  test("creates a batch of owed earnings with lines and a file; marking it as paid is final, and the ledger balances", async () => {
    const rich = await hostWith(1000, "=Rich, Ltd");
    const poor = await hostWith(1, "Poor");
    const made = await create({ note: "November", minimum_micro: "1" });
    assert.equal(made.status, 201, made.text);
    const { id, created_at, ...batch } = made.body;
    assert.match(String(id), /^pay_[0-9a-z]{26}$/);
    assert.deepEqual(batch, {
      object: "payout_batch",
      state: "open",
      note: "November",
      hosts: 1,
      total_micro: rich.earned,
      held_back_micro: "0.000000",
      set_off_micro: "0.000000",
      withheld_micro: "0.000000",
      created_by: operator.email,
      paid_at: null,
      paid_by: null,
    });
    const one = await operator.browser.send("GET", `${PAYOUTS}/${id}`);
    const { lines, next_cursor, as_of, ...rest } = one.body as {
      lines: Record<string, string>[];
      next_cursor: null;
      as_of: number;
    };
    assert.equal(typeof as_of, "number");
    assert.deepEqual(rest, made.body);
    assert.equal(next_cursor, null);
    const line = {
      account: publicId("acc", rich.account),
      name: "=Rich, Ltd",
      owners: rich.host.email,
      amount_micro: rich.earned,
      held_back_micro: "0.000000",
      set_off_micro: "0.000000",
      withheld_micro: "0.000000",
      newly_withheld_micro: "0.000000",
      own_micro: "0.000000",
    };
    assert.deepEqual(lines, [{ payout: lines[0]?.payout, ...line, method: null }]);
    const file = await operator.browser.send("GET", `${PAYOUTS}/${id}/csv`);
    assert.equal(file.headers["content-type"], "text/csv; charset=utf-8");
    assert.equal(
      file.text,
      [
        "payout,account,name,owners,amount_micro,held_back_micro,set_off_micro,withheld_micro,newly_withheld_micro,own_micro,method,holder,number,bank_code,method_changed_at",
        `${lines[0]?.payout},${line.account},"'=Rich, Ltd",${line.owners},${line.amount_micro},0.000000,0.000000,0.000000,0.000000,0.000000,,,,,`,
        "",
      ].join("\r\n"),
    );

    const earnings = async () => (await rich.host.browser.send("GET", "/console/api/earnings")).body.balance;
    const [earned_micro, nothing] = [rich.earned, "0.000000"];
    const still = {
      earned_micro,
      own_micro: nothing,
      set_off_micro: nothing,
      held_back_micro: nothing,
      withheld_micro: nothing,
    };
    assert.deepEqual(await earnings(), { ...still, paid_out_micro: nothing, pending_micro: earned_micro });
    const paid = await operator.browser.send("POST", `${PAYOUTS}/${id}/paid`);
    assert.deepEqual([paid.status, paid.body.state, paid.body.paid_by], [200, "paid", operator.email]);
    assert.deepEqual(await earnings(), { ...still, paid_out_micro: earned_micro, pending_micro: nothing });
    const again = await operator.browser.send("POST", `${PAYOUTS}/${id}/paid`);
    assert.deepEqual([again.status, again.body], [200, paid.body], "twice is once");
    const { rows } = await platform.pool.query(
      "select kind, account_id, amount::text from transfer where kind = 'payout'",
    );
    const amount = rich.earned.replace(".", "").replace(/^0+/, "");
    assert.deepEqual(rows, [{ kind: "payout", account_id: rich.account, amount }]);
    assert.ok((await checkLedger(platform.pool)).every(({ differences }) => differences.length === 0));
    assert.deepEqual(
      (await readLatestAuditEntries(operator, 3)).map(({ action, subject, outcome }) => [action, subject, outcome]),
      [
        ["payout.paid", id, "done"],
        ["payout.paid", id, "done"],
        ["payout.create", "hosts", "done"],
      ],
    );
    const list = await operator.browser.send("GET", `${PAYOUTS}?limit=1`);
    assert.deepEqual(list.body.data, [paid.body]);

    const rest2 = await create();
    assert.equal(rest2.status, 201, rest2.text);
    assert.deepEqual([rest2.body.hosts, rest2.body.total_micro], [1, poor.earned], "what was too little before");
    const pages = await operator.browser.send("GET", `${PAYOUTS}?limit=1`);
    assert.deepEqual((pages.body.data as object[])[0], rest2.body, "newest first");
    const next = await operator.browser.send("GET", `${PAYOUTS}?limit=1&cursor=${pages.body.next_cursor}`);
    assert.deepEqual([(next.body.data as object[])[0], next.body.next_cursor], [paid.body, null]);
  });
});

test("returns a batch's lines in pages, sorted by host name, and all lines in the CSV file", async () => {
  const names = ["alder", "birch", "birch", "cedar", "dogwood"];
  for (const name of [...names].reverse()) await hostWith(50, name);
  const { body } = await create();
  assert.equal(body.hosts, names.length);
  const seen: unknown[] = [];
  for (let cursor: unknown = "", pages = 0; cursor !== null; pages++) {
    assert.ok(pages < 3, "two lines a page");
    const at = `${PAYOUTS}/${body.id}?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`;
    const { lines, next_cursor } = (await operator.browser.send("GET", at)).body;
    for (const { name, payout } of lines as Record<string, string>[]) seen.push([name, payout]);
    cursor = next_cursor;
  }
  assert.deepEqual(
    seen.map((line) => (line as string[])[0]),
    names,
  );
  assert.equal(new Set(seen.map((line) => (line as string[])[1])).size, names.length);
  const file = await operator.browser.send("GET", `${PAYOUTS}/${body.id}/csv`);
  assert.equal(file.text.trim().split("\r\n").length, 1 + names.length);
  assertRefused(await operator.browser.send("GET", `${PAYOUTS}/${body.id}?cursor=abc`), 400, "invalid_cursor");
});

test("returns a 400 that names the invalid field and its rule", async () => {
  for (const [body, param, rule] of [
    [{ note: 7 }, "note", /must be a string/],
    [{ note: "x".repeat(201) }, "note", /at most 200/],
    [{ note: "a\u0000b" }, "note", /control characters/],
    [{ minimum_micro: "0" }, "minimum_micro", /from 1 to/],
    [{ minimum_micro: "1.5" }, "minimum_micro", /from 1 to/],
    [{ minimum_micro: {} }, "minimum_micro", /whole number of microdollars/],
    // An unknown field must be refused. If a misspelt minimum were ignored, hosts below it would be paid too.
    [{ minimum: "1000000" }, "minimum", /^"minimum" is an unknown field$/],
  ] as const) {
    const answer = await create(body);
    assertRefused(answer, 400, param);
    assert.match(String(answer.body.error?.message), rule);
  }
  assertRefused(await operator.browser.send("GET", `${PAYOUTS}?limit=0`), 400, "limit");
  assertRefused(await operator.browser.send("GET", `${PAYOUTS}?cursor=abc`), 400, "invalid_cursor");
});

test("returns 404 not_found for an unknown batch", async () => {
  for (const id of [publicId("pay", platform.newId()), "pay_1", "nonsense"]) {
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/csv"],
      ["POST", "/paid"],
    ] as const) {
      assertRefused(await operator.browser.send(method, `${PAYOUTS}/${id}${path}`), 404, "not_found");
    }
  }
});

test("returns 409 nothing_owed and creates no batch if an open batch already contains all owed amounts", async () => {
  await hostWith(10, "Waiting");
  const open = await create();
  assert.equal(open.status, 201);
  const count = async () => (await platform.pool.query("select from payout_batch")).rowCount;
  const before = await count();
  assertRefused(await create(), 409, "nothing_owed");
  assertRefused(await create({ minimum_micro: "1000000000000" }), 409, "nothing_owed");
  assert.equal(await count(), before);
  const [last] = await readLatestAuditEntries(operator, 1);
  assert.deepEqual([last?.action, last?.outcome], ["payout.create", "nothing_owed"]);
});
