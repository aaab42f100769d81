/** A host's exact earnings, as sums and by request, for its own nodes only. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { publicId, type Uuid } from "../../base/ids.ts";
import { formatExactMicrodollars, pico } from "../../base/money.ts";
import { computeHostShare } from "../../base/testing.ts";
import { openFleet } from "../../fleet/fleet.ts";
import { openWithheldSharesReserve } from "../../ledger/withheld-shares-reserve.ts";
import { insertServedRequest } from "../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { assertRefused, signInTestPerson } from "../testing/sign-in-test-person.ts";

const API = "/console/api";

let platform: TestPlatform;
before(async () => {
  platform = await openTestPlatform();
});
after(() => platform.close());

const share = (...charges: bigint[]): string =>
  formatExactMicrodollars(pico(charges.reduce((sum, charge) => sum + computeHostShare(charge), 0n)));

async function hostWithNode(name: string) {
  const host = await signInTestPerson(platform, [{ kind: "host" }]);
  const accountId = host.accountIds[0] as Uuid;
  const node = await openFleet(platform).register(accountId, { name, hardware: {}, agent: "" });
  return { host, at: { accountId, nodeId: node.id }, node: publicId("node", node.id) };
}

describe("status 200", () => {
  test("returns exact daily earnings by node and model for this host only", async () => {
    const builder = await platform.person([{ kind: "builder" }]);
    const accountId = builder.accountIds[0] as Uuid;
    const { host, at, node } = await hostWithNode("barn");
    const other = await hostWithNode("elsewhere");
    const [first, second] = [new Date("2026-11-13T23:30:00Z"), new Date("2026-11-14T00:10:00Z")];
    await insertServedRequest(platform, { accountId, charge: 3_333_333n, host: at, at: first });
    await insertServedRequest(platform, { accountId, charge: 10_000_001n, host: at, at: second });
    await insertServedRequest(platform, { accountId, charge: 7n, host: at, at: second, model: "small-8b" });
    await insertServedRequest(platform, { accountId, charge: 500n, host: other.at, at: second });
    const ask = async (query: string) => {
      const { status, text, body } = await host.browser.send("GET", `${API}/earnings/sums?from=2026-11-13&${query}`);
      assert.equal(status, 200, text);
      return (body.data as { earned_micro: string; own_micro: string }[]).map(({ own_micro, ...of }) => {
        assert.equal(own_micro, "0.000000", "they were strangers' requests");
        return of;
      });
    };
    const counts = (requests: number) => ({ requests, prompt_tokens: 3 * requests, completion_tokens: 5 * requests });
    assert.deepEqual(await ask("by=day"), [
      { day: "2026-11-13", ...counts(1), earned_micro: share(3_333_333n) },
      { day: "2026-11-14", ...counts(2), earned_micro: share(10_000_001n, 7n) },
    ]);
    assert.deepEqual(await ask("by=hour&split=model&to=2026-11-14T00:00:00Z"), [
      { hour: "2026-11-13T23:00:00Z", model: "tiny-3b", ...counts(1), earned_micro: share(3_333_333n) },
    ]);
    assert.deepEqual(await ask(`by=day&split=node&node=${node}&from=2026-11-14`), [
      { day: "2026-11-14", node, ...counts(2), earned_micro: share(10_000_001n, 7n) },
    ]);
    assert.deepEqual(await ask(`by=day&node=${other.node}`), []);
    assert.deepEqual(await ask("by=model"), [
      { model: "small-8b", ...counts(1), earned_micro: share(7n) },
      { model: "tiny-3b", ...counts(2), earned_micro: share(3_333_333n, 10_000_001n) },
    ]);
    assert.deepEqual(await ask("by=node&split=model&from=2026-11-14"), [
      { node, model: "small-8b", ...counts(1), earned_micro: share(7n) },
      { node, model: "tiny-3b", ...counts(1), earned_micro: share(10_000_001n) },
    ]);
  });

  test("exports every paid request as CSV, filtered by node and time span, for this host only", async () => {
    const builder = await platform.person([{ kind: "builder" }]);
    const accountId = builder.accountIds[0] as Uuid;
    const { host, at, node } = await hostWithNode("kiln");
    const other = await hostWithNode("mill");
    const early = await insertServedRequest(platform, {
      accountId,
      charge: 3n,
      host: at,
      at: new Date("2026-11-12T08:00:00Z"),
    });
    const late = await insertServedRequest(platform, { accountId, charge: 3_333_333n, host: at });
    await insertServedRequest(platform, { accountId, charge: 9n, host: other.at });
    const file = await host.browser.send("GET", `${API}/earnings.csv`);
    assert.equal(file.headers["content-type"], "text/csv; charset=utf-8");
    assert.equal(file.headers["content-disposition"], 'attachment; filename="earnings.csv"');
    const [head, first, second, end] = file.text.split("\r\n") as [string, string, string, string];
    assert.equal(
      head,
      "request_id,finished_at,node,model,outcome,prompt_tokens,completion_tokens,earned_micro,own,withheld_micro,withheld_reason,taken_back_micro,released_micro,released_at",
    );
    assert.match(
      first,
      new RegExp(
        `^${publicId("req", late)},[0-9T:.-]+Z,${node},tiny-3b,ok,3,5,${share(3_333_333n)},false,0.000000,,0.000000,0.000000,$`,
      ),
    );
    assert.ok(second.startsWith(publicId("req", early)), second);
    assert.equal(end, "");
    const lines = async (query: string) =>
      (await host.browser.send("GET", `${API}/earnings.csv?${query}`)).text.split("\r\n").slice(1, -1);
    assert.deepEqual(await lines(`node=${node}&to=2026-11-13`), [second]);
    assert.deepEqual(await lines(`node=${other.node}`), []);
  });

  test("lists withheld, taken back and released shares in the CSV file, so that it adds up to the host's balance", async () => {
    const builder = await platform.person([{ kind: "builder" }]);
    const accountId = builder.accountIds[0] as Uuid;
    const { host, at, node } = await hostWithNode("quarry");
    const lost = {
      accountId,
      charge: 10_000_000n,
      host: at,
      outcome: "upstream_failed",
      withheld: "node_failed",
    } as const;
    const [kept, released] = [await insertServedRequest(platform, lost), await insertServedRequest(platform, lost)];
    const paid = await insertServedRequest(platform, { accountId, charge: 20_000_000n, host: at });
    const { pool } = platform;
    const reserve = openWithheldSharesReserve({ pool });
    assert.equal((await reserve.withhold(at.nodeId, new Date(0), "spot_check")).shares, 1);
    assert.equal((await reserve.release({ requestIds: [released] }, { by: "o", note: "ours" })).shares, 1);
    const { text } = await host.browser.send("GET", `${API}/earnings.csv?node=${node}`);
    const rows = text.split("\r\n").slice(1, -1);
    assert.deepEqual(
      rows.map((row) => row.replace(/[0-9-]+T[0-9:.]+Z/g, "TIME")),
      [
        `${publicId("req", paid)},TIME,${node},tiny-3b,ok,3,5,${share(20_000_000n)},false,${share(20_000_000n)},spot_check,${share(20_000_000n)},0.000000,`,
        `${publicId("req", released)},TIME,${node},tiny-3b,upstream_failed,,,0.000000,,${share(10_000_000n)},node_failed,0.000000,${share(10_000_000n)},TIME`,
        `${publicId("req", kept)},TIME,${node},tiny-3b,upstream_failed,,,0.000000,,${share(10_000_000n)},node_failed,0.000000,0.000000,`,
      ],
    );
    const { balance } = (await host.browser.send("GET", `${API}/earnings`)).body as { balance: Record<string, string> };
    assert.equal(balance.pending_micro, share(10_000_000n));
    const past = await host.browser.send("GET", `${API}/earnings.csv?to=2026-11-01`);
    assert.equal(past.text.split("\r\n").length, 2, "only the header");
  });
});

describe("status 400", () => {
  test("refuses an unknown node, and a time span that is reversed or too long", async () => {
    const { host } = await hostWithNode("shed");
    const wrong: [string, string][] = [
      ["from=2026-02-01&to=2026-01-01", "to"],
      ["by=hour&from=2026-01-01&to=2026-03-01", "from"],
      ["node=none", "node"],
      ["by=week", "by"],
      ["split=key", "split"],
      ["by=node&split=node", "split"],
    ];
    for (const [query, field] of wrong) {
      const { status, body } = await host.browser.send("GET", `${API}/earnings/sums?${query}`);
      assert.equal(status, 400, query);
      assert.match(body.error?.message ?? "", new RegExp(`^"${field}" must`), query);
    }
  });
});

describe("status 404", () => {
  test("does not return a receipt for a request that another host served", async () => {
    const { host } = await hostWithNode("loft");
    const id = publicId("req", platform.newId());
    for (const one of [id, "nonsense"]) {
      assertRefused(await host.browser.send("GET", `${API}/earnings/${one}/receipt`), 404, "not_found");
    }
  });
});
