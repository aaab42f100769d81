/** A host's earnings in the console: the paid requests, their sums, and pages of them filtered by node and time. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { publicId, type Uuid } from "../../base/ids.ts";
import { dollars, formatExactMicrodollars, pico, ZERO } from "../../base/money.ts";
import { computeHostShare } from "../../base/testing.ts";
import { HOUR_MS } from "../../base/time.ts";
import { type Node, openFleet } from "../../fleet/fleet.ts";
import { insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

const API = "/console/api";

let platform: TestPlatform;
let owner: Person;
let accountId: Uuid;
before(async () => {
  platform = await openTestPlatform();
  owner = await signInTestPerson(platform, [{ kind: "host" }]);
  accountId = owner.accountIds[0] as Uuid;
});
after(() => platform.close());

const newNode = (name: string, account: Uuid): Promise<Node> =>
  openFleet(platform).register(account, { name, hardware: {}, agent: "" });

describe("status 200", () => {
  test("returns every paid request, the amount owed and the payouts", async () => {
    const host = await signInTestPerson(platform, [{ kind: "host" }]);
    const builder = await platform.person([{ kind: "builder" }]);
    const [account] = host.accountIds as [Uuid];
    const node = await newNode("silo", account);
    const charges = [3_333_333n, 10_000_001n];
    const requests: Uuid[] = [];
    for (const charge of charges) {
      const at = { accountId: account, nodeId: node.id };
      requests.push(
        await insertServedRequest(platform, {
          accountId: builder.accountIds[0] as Uuid,
          charge,
          host: at,
          keyName: "their secret",
        }),
      );
    }
    const shares = charges.map((charge) => computeHostShare(charge));
    const total = shares.reduce((sum, share) => sum + share, 0n);
    const payout = { id: platform.newId(), kind: "payout", accountId: account, reason: "a test" } as const;
    await platform.ledger.transfer({ ...payout, amount: pico(2_000_000n) });
    const answer = await host.browser.send("GET", `${API}/earnings`);
    const { data, balance, today_micro } = answer.body as { data: Record<string, unknown>[]; [field: string]: unknown };
    assert.deepEqual(
      data
        .map(({ finished_at, ...line }) => line)
        .sort((a, b) => (String(a.request_id) < String(b.request_id) ? -1 : 1)),
      requests
        .map((id, i) => ({
          request_id: publicId("req", id),
          node: publicId("node", node.id),
          model: "tiny-3b",
          prompt_tokens: 3,
          completion_tokens: 5,
          outcome: "ok",
          earned_micro: formatExactMicrodollars(shares[i] ?? ZERO),
          own: false,
        }))
        .sort((a, b) => (a.request_id < b.request_id ? -1 : 1)),
    );
    assert.deepEqual(balance, {
      earned_micro: formatExactMicrodollars(pico(total)),
      own_micro: "0.000000",
      paid_out_micro: "2.000000",
      set_off_micro: "0.000000",
      pending_micro: formatExactMicrodollars(pico(total - 2_000_000n)),
      held_back_micro: "0.000000",
      withheld_micro: "0.000000",
    });
    assert.equal(today_micro, formatExactMicrodollars(pico(total)));
    assert.ok(!answer.text.includes("their secret"), "whose request it was is not the host's business");
    const stats = (await host.browser.send("GET", `${API}/nodes/${publicId("node", node.id)}`)).body.stats as {
      today: object;
    };
    const earned_micro = formatExactMicrodollars(pico(total));
    assert.deepEqual(stats.today, { requests: 2, prompt_tokens: 6, completion_tokens: 10, earned_micro });
  });

  test("returns pages of earnings, filtered by node and time, that equal a search of all earnings", async () => {
    const host = await signInTestPerson(platform, [{ kind: "host" }]);
    const [account] = host.accountIds as [Uuid];
    const builder = (await platform.person([{ kind: "builder" }])).accountIds[0] as Uuid;
    const [common, rare] = [await newNode("common", account), await newNode("rare", account)];
    const start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 30 * HOUR_MS;
    const rows = Array.from({ length: 50 }, (_, i) => ({
      node: i % 9 === 0 ? rare : common,
      at: new Date(start + i * (HOUR_MS / 2) + 17),
    }));
    const past = await Promise.all(
      rows.map(async (row) => ({
        ...row,
        id: await insertServedRequest(platform, {
          accountId: builder,
          charge: 1_000n,
          at: row.at,
          host: { accountId: account, nodeId: row.node.id },
        }),
      })),
    );
    past.reverse();
    const all = async (query: Record<string, string>): Promise<string[]> => {
      const found: string[] = [];
      for (let cursor: unknown; cursor !== null; ) {
        const more = new URLSearchParams({
          ...query,
          limit: "4",
          ...(cursor !== undefined && { cursor: String(cursor) }),
        });
        const { body } = await host.browser.send("GET", `${API}/earnings?${more}`);
        found.push(...(body.data as { request_id: string }[]).map(({ request_id }) => request_id));
        cursor = body.next_cursor;
      }
      return found;
    };
    const [from, to] = [new Date(start + 6.5 * HOUR_MS), new Date(start + 20 * HOUR_MS)];
    const span = { from: from.toISOString(), to: to.toISOString() };
    for (const node of [undefined, common, rare]) {
      for (const bounds of [{}, { from: span.from }, { to: span.to }, span]) {
        const expected = past
          .filter((row) => node === undefined || row.node === node)
          .filter((row) => !("from" in bounds) || row.at >= from)
          .filter((row) => !("to" in bounds) || row.at < to)
          .map(({ id }) => publicId("req", id));
        const query = { ...bounds, ...(node !== undefined && { node: publicId("node", node.id) }) };
        assert.deepEqual(await all(query), expected, JSON.stringify(query));
      }
    }
  });

  test("does not count the balance of the same person's builder account as earnings", async () => {
    const both = await signInTestPerson(platform, [{ kind: "host" }, { kind: "builder" }]);
    const { body } = await both.browser.send("GET", `${API}/earnings`);
    assert.equal((body.balance as { pending_micro: string }).pending_micro, "0.000000");
    assert.equal((await platform.ledger.balance(both.accountIds[1] as Uuid))?.balance, dollars(5));
  });
});

describe("status 400", () => {
  test("names an invalid field and its rule", async () => {
    for (const [query, param, rule] of [
      ["limit=0", "limit", /1 to 100/],
      ["node=barn", "node", /node_/],
      ["from=soon", "from", /must be a time/],
      ["to=2026-13-01", "to", /must be a time/],
    ] as const) {
      const answer = await owner.browser.send("GET", `${API}/earnings?${query}`);
      assertRefused(answer, 400, param);
      assert.match(String(answer.body.error?.message), rule);
    }
  });

  test("refuses a cursor that is forged or belongs to another host with invalid_cursor", async () => {
    const other = await signInTestPerson(platform, [{ kind: "host" }]);
    const builder = (await platform.person([{ kind: "builder" }])).accountIds[0] as Uuid;
    for (const account of [accountId, other.accountIds[0] as Uuid]) {
      const host = { accountId: account, nodeId: platform.newId() };
      for (let i = 0; i < 2; i++) await insertServedRequest(platform, { accountId: builder, charge: 10n, host });
    }
    const theirs = (await other.browser.send("GET", `${API}/earnings?limit=1`)).body.next_cursor;
    assert.ok(theirs);
    for (const cursor of ["", "abc", theirs]) {
      assertRefused(await owner.browser.send("GET", `${API}/earnings?cursor=${cursor}`), 400, "invalid_cursor");
    }
  });
});
