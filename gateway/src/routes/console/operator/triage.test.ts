/** The platform's status, pending decisions, and any request by its ID, for operators. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { publicId, type Uuid } from "../../../base/ids.ts";
import { insertServedRequest } from "../../testing/past-requests.ts";
import { openTestPlatform, type TestPlatform } from "../../testing/platform.ts";
import { type Person, signInTestPerson } from "../../testing/sign-in-test-person.ts";

let platform: TestPlatform;
let operator: Person;
let host: Person;
before(async () => {
  platform = await openTestPlatform();
  operator = await signInTestPerson(platform, [], { operator: true });
  host = await signInTestPerson(platform, [{ kind: "host" }]);
});
after(() => platform.close());

const get = (path: string) => operator.browser.send("GET", `/console/api/operator/${path}`);
const triage = async () => (await get("triage")).body as unknown as Triage;

interface Triage {
  state: string;
  causes: { code: string; part: string | null; models: string[]; since: number | null }[];
  inbox: {
    quarantines: { name: string; quarantine: { reason: string; evidence: object } }[];
    payouts: { note: string; hosts: number }[];
    disputes: { id: string; amount_micro: string }[];
    settlements_given_up: number;
    spools_left: { gateway: string; directory: string; requests: number }[];
  };
}

describe("the platform's status", () => {
  test("is down without connected nodes, and serving when every model has a node", async () => {
    const { state, causes } = await triage();
    assert.equal(state, "down");
    assert.deepEqual(
      causes.map(({ code }) => code),
      ["no_capacity"],
    );
    platform.outside.connected.add("node_a");
    assert.deepEqual({ ...(await triage()), inbox: null, as_of: 0, models: 0 }, {
      object: "triage",
      as_of: 0,
      state: "serving",
      causes: [],
      models: 0,
      inbox: null,
    } as unknown as Triage);
  });

  test("is down while the dispatch plane is unreachable, and includes the time when that began", async () => {
    const { now } = platform.parts.outages;
    platform.parts.outages.now = () => [{ part: "plane", since: 1_790_000_000_000, isNeeded: true }];
    const { state, causes } = await triage();
    platform.parts.outages.now = now;
    assert.equal(state, "down");
    assert.deepEqual(causes, [{ code: "unreachable", since: 1_790_000_000, part: "plane", models: [] }]);
  });
});

test("the list of pending decisions contains quarantines with evidence, open payouts, open disputes, settlements given up and spools left", async () => {
  const hostId = host.accountIds[0] as Uuid;
  const node = await platform.parts.fleet.register(hostId, { name: "bad", hardware: {}, agent: "" });
  const evidence = { model: "tiny-3b", jobs: 20, failures: 9 };
  await platform.parts.fleet.quarantine(node.id, { reason: "failures", evidence, by: "the platform" });
  const owed = await platform.parts.fleet.register(hostId, { name: "good", hardware: {}, agent: "" });
  const builder = await signInTestPerson(platform, [{ kind: "builder" }]);
  const accountId = builder.accountIds[0] as Uuid;
  await insertServedRequest(platform, {
    accountId,
    charge: 1_000_000_000_000n,
    host: { accountId: hostId, nodeId: owed.id },
  });
  await operator.browser.send("POST", "/console/api/operator/payouts", { body: { note: "November" } });
  await platform.pool.query(
    `insert into payout_batch (id, note, created_by, created_at, paid_at, paid_by)
     select gen_random_uuid(), 'newer, paid', 'op', now() + interval '1 day', now(), 'op' from generate_series(1, 25)`,
  );
  await platform.pool.query(
    "update payout_batch set id = ('ffffffff' || substr(id::text, 9))::uuid where note = 'newer, paid'",
  );
  const checkout = platform.newId();
  await platform.pool.query(
    `insert into payment_checkout (id, account_id, pack, amount, live, provider_session, provider_payment, state)
     values ($1, $2, 'pack_5', 5000000000000, false, 'cs_1', 'pi_1', 'paid')`,
    [checkout, accountId],
  );
  await platform.pool.query("insert into payment (id) values ('pi_1')");
  await platform.pool.query(
    `insert into payment_reversal (id, payment_id, kind, amount, status, as_of)
     values ('dp_open', 'pi_1', 'dispute', 5000000000000, 'needs_response', now()),
            ('dp_won', 'pi_1', 'dispute', 5000000000000, 'won', now()), ('re_1', 'pi_1', 'refund', 1, 'succeeded', now())`,
  );

  await platform.pool.query("insert into settlement_given_up (request_id, charge, reason) values ($1, 1, 'refused')", [
    platform.newId(),
  ]);
  await platform.pool.query(
    `insert into gateway_process (gateway, host, directory, connections, seen_at, expired) values
      ('gone', 'machine', '/data/spool', 24, '2030-01-01', 30), ('running', 'machine', '/data/spool', 24, now(), 0)`,
  );

  const { inbox } = await triage();
  assert.equal(inbox.settlements_given_up, 1);
  assert.deepEqual(inbox.spools_left, [
    { gateway: "gone", host: "machine", directory: "/data/spool", seen_at: Date.UTC(2030) / 1000, requests: 30 },
  ]);
  assert.deepEqual(
    inbox.quarantines.map(({ name, quarantine }) => [name, quarantine.reason, quarantine.evidence]),
    [["bad", "failures", evidence]],
  );
  assert.deepEqual(
    inbox.payouts.map(({ note, hosts }) => [note, hosts]),
    [["November", 1]],
  );
  assert.deepEqual(
    inbox.disputes.map(({ id, amount_micro }) => [id, amount_micro]),
    [["dp_open", "5000000.000000"]],
  );
});

describe("looking up a request of any account", () => {
  test("finds it by its answer's ID, with builder, host and ledger lines that add up to zero; the audit log records this", async () => {
    const builder = await signInTestPerson(platform, [{ kind: "builder" }]);
    const [accountId, hostId] = [builder.accountIds[0] as Uuid, host.accountIds[0] as Uuid];
    const node = await platform.parts.fleet.register(hostId, { name: "garage", hardware: {}, agent: "" });
    const request = { accountId, charge: 1_000_000n, host: { accountId: hostId, nodeId: node.id } };
    const id = publicId("req", await insertServedRequest(platform, request));
    const { status, body, text } = await get(`requests/${id.replace("req_", "chatcmpl-")}`);
    assert.equal(status, 200, text);
    const found = body as unknown as {
      id: string;
      account: { id: string };
      node: { name: string };
      ledger: { kind: string; amount_micro: string }[];
      receipt: { request_id: string };
    };
    assert.deepEqual(
      [found.id, found.account.id, found.node.name, found.receipt.request_id],
      [id, publicId("acc", accountId), "garage", id],
    );
    assert.deepEqual(
      found.ledger.map(({ kind, amount_micro }) => [kind, amount_micro]),
      [
        ["charge", "-1.000000"],
        ["share", "0.700000"],
        ["fee", "0.300000"],
      ],
    );
    const log = (await get(`audit?action=request.read&subject=${id}`)).body.data as { outcome: string }[];
    assert.deepEqual(
      log.map(({ outcome }) => outcome),
      ["done"],
    );
  });

  test("returns 404 if it does not exist, and records the lookup in the audit log", async () => {
    const id = publicId("req", platform.newId());
    assert.equal((await get(`requests/${id}`)).status, 404);
    const log = (await get(`audit?action=request.read&subject=${id}`)).body.data as { outcome: string }[];
    assert.deepEqual(
      log.map(({ outcome }) => outcome),
      ["not_found"],
    );
  });

  test("shows the withheld share if the request's node failed", async () => {
    const builder = await signInTestPerson(platform, [{ kind: "builder" }]);
    const [accountId, hostId] = [builder.accountIds[0] as Uuid, host.accountIds[0] as Uuid];
    const node = await platform.parts.fleet.register(hostId, { name: "failed", hardware: {}, agent: "" });
    const request = { accountId, charge: 1_000_000n, host: { accountId: hostId, nodeId: node.id } };
    const id = publicId(
      "req",
      await insertServedRequest(platform, { ...request, outcome: "upstream_failed", withheld: "node_failed" }),
    );
    const { body } = await get(`requests/${id}`);
    assert.equal(body.withheld, "node_failed");
    assert.deepEqual(
      (body.ledger as { kind: string; amount_micro: string }[]).map(({ kind, amount_micro }) => [kind, amount_micro]),
      [
        ["charge", "-1.000000"],
        ["withheld", "0.700000"],
        ["fee", "0.300000"],
      ],
    );
  });
});
