/** Tests operators' routes for all hosts' nodes. The tests are ordered by HTTP status. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { parseId, publicId, type Uuid } from "../../../base/ids.ts";
import { type Fleet, type Node, openFleet } from "../../../fleet/fleet.ts";
import { NODE_RULES } from "../../../fleet/node-standing-rules.ts";
import { readLatestAuditEntries } from "../../testing/audit-log.ts";
import { openTestPlatform, type TestPlatform } from "../../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../../testing/sign-in-test-person.ts";

const NODES = "/console/api/operator/nodes";

let platform: TestPlatform;
let operator: Person;
let host: Person;
let fleet: Fleet;
before(async () => {
  platform = await openTestPlatform();
  operator = await signInTestPerson(platform, [], { operator: true });
  host = await signInTestPerson(platform, [{ kind: "host" }]);
  fleet = openFleet({ ...platform, rules: { ...NODE_RULES, probationNodesMax: 100 } });
});
after(() => platform.close());

const accountId = (): Uuid => host.accountIds[0] as Uuid;
async function newNode(name: string): Promise<Node> {
  const { id } = await fleet.register(accountId(), { name, hardware: {}, agent: "" });
  await fleet.elect(accountId(), id, ["tiny-3b"]);
  return (await fleet.find(null, id)) as Node;
}
const at = ({ id }: Node): string => `${NODES}/${publicId("node", id)}`;
const quarantine = (url: string, body: unknown) => operator.browser.send("POST", `${url}/quarantine`, { body });

describe("status 200", () => {
  test("lists all hosts' nodes with their accounts, and returns one node with its statistics", async () => {
    const node = await newNode("barn");
    await platform.pool.query("update account set name = 'The barn' where id = $1", [accountId()]);
    const list = await operator.browser.send("GET", NODES);
    const shown = (list.body.data as Record<string, unknown>[]).find(({ id }) => id === publicId("node", node.id));
    assert.deepEqual([shown?.account, shown?.account_name], [publicId("acc", accountId()), "The barn"]);
    assert.deepEqual([shown?.name, shown?.state], ["barn", "ready"]);
    const one = await operator.browser.send("GET", at(node));
    const { stats, hardware, as_of, unusual_lengths, ...object } = one.body as Record<string, unknown>;
    assert.deepEqual(object, shown);
    assert.equal(typeof as_of, "number");
    assert.deepEqual(unusual_lengths, []);
    assert.deepEqual(hardware, {});
    assert.equal((stats as { object: string }).object, "node_stats");
  });

  test("finds nodes by name, state and host, in pages, newest first, without gaps or repetitions", async () => {
    const other = await platform.person([{ kind: "host" }]);
    const made: string[] = [];
    for (const name of ["find 1", "find 2", "find 3", "lose 4", "find 5"]) {
      made.unshift(publicId("node", (await newNode(name)).id));
    }
    const theirs = await fleet.register(other.accountIds[0] as Uuid, { name: "find 6", hardware: {}, agent: "" });
    const all = async (query: string): Promise<string[]> => {
      const found: string[] = [];
      for (let cursor: unknown; cursor !== null; ) {
        const more = cursor === undefined ? "" : `&cursor=${cursor}`;
        const { body } = await operator.browser.send("GET", `${NODES}?limit=2&${query}${more}`);
        assert.ok((body.data as object[]).length <= 2);
        found.push(...(body.data as { id: string }[]).map(({ id }) => id));
        cursor = body.next_cursor;
      }
      return found;
    };
    const [fifth, , third, second, first] = made as [string, string, string, string, string];
    const sixth = publicId("node", theirs.id);
    assert.deepEqual(await all("q=FIND"), [sixth, fifth, third, second, first]);
    assert.deepEqual(await all(`q=find&host=${publicId("acc", accountId())}`), [fifth, third, second, first]);
    assert.deepEqual(await all("q=find&state=registered"), [sixth]);
    await fleet.move(null, parseId("node", second) as Uuid, "pause");
    assert.deepEqual(await all("q=find&state=ready"), [fifth, third, first]);
    assert.deepEqual(await all("q=find&state=paused"), [second]);
    assert.deepEqual(await all("q=find&state=online"), [], "none is connected");
    assert.deepEqual(await all(`host=${publicId("acc", platform.newId())}`), []);
  });

  test("quarantines a node with a reason for its host, releases it to paused, and records both in the audit log", async () => {
    const node = await newNode("shed");
    const subject = publicId("node", node.id);
    const barred = await quarantine(at(node), { reason: "smells of smoke" });
    assert.deepEqual([barred.status, barred.body.state], [200, "quarantined"]);
    const seen = (await host.browser.send("GET", `/console/api/nodes/${subject}`)).body as { quarantine: object };
    assert.equal((seen.quarantine as { reason: string }).reason, "smells of smoke");
    assert.equal((await quarantine(at(node), { reason: "again" })).status, 200);
    assert.equal((await fleet.find(null, node.id))?.quarantine?.reason, "smells of smoke", "the first reason stands");
    const released = await operator.browser.send("POST", `${at(node)}/release`);
    assert.deepEqual([released.status, released.body.state, released.body.quarantine], [200, "paused", null]);
    const { rows } = await platform.pool.query("select by, released_by from node_quarantine where node_id = $1", [
      node.id,
    ]);
    assert.deepEqual(rows, [{ by: operator.email, released_by: operator.email }]);
    assert.deepEqual(
      (await readLatestAuditEntries(operator, 3)).map(({ action, subject: of, outcome }) => [action, of, outcome]),
      [
        ["node.release", subject, "done"],
        ["node.quarantine", subject, "done"],
        ["node.quarantine", subject, "done"],
      ],
    );
  });
});

test("clearing a node lets it get requests although another node of the same host is quarantined; a second call returns 409", async () => {
  const bad = await newNode("bad of its host");
  await fleet.quarantine(bad.id, { reason: "canary", evidence: {}, by: "platform" });
  const [next, third] = [await newNode("next of its host"), await newNode("third of its host")];
  assert.equal((await operator.browser.send("GET", at(next))).body.withheld, "host_quarantine");
  const cleared = await operator.browser.send("POST", `${at(next)}/clear`);
  assert.deepEqual([cleared.status, cleared.body.withheld], [200, null]);
  const [act] = await readLatestAuditEntries(operator, 1);
  assert.deepEqual([act?.action, act?.subject, act?.outcome], ["node.clear", publicId("node", next.id), "done"]);
  assertRefused(await operator.browser.send("POST", `${at(next)}/clear`), 409, "node_state_conflict");
  assert.equal(
    (await operator.browser.send("GET", at(third))).body.withheld,
    "host_quarantine",
    "one node, not its host",
  );
  assertRefused(await host.browser.send("POST", `${at(third)}/clear`), 403, "operator_only");
  await fleet.release(bad.id, operator.email);
});

test("refuses a quarantine without a reason with 400", async () => {
  const node = await newNode("for 400");
  for (const [body, rule] of [
    [{}, /is required/],
    [{ reason: " " }, /must not be empty: give the reason/],
    [{ reason: "x".repeat(201) }, /at most 200/],
  ] as const) {
    const answer = await quarantine(at(node), body);
    assertRefused(answer, 400, "reason");
    assert.match(String(answer.body.error?.message), rule);
  }
  assert.equal((await fleet.find(null, node.id))?.standing, "ready");
});

test("returns a 400 that names an invalid filter and its rule, and refuses a cursor of another list", async () => {
  for (const [query, param, rule] of [
    ["state=away", "state", /must be one of registered, ready, online/],
    ["host=nobody", "host", /acc_…/],
    [`q=${"x".repeat(201)}`, "q", /at most 200/],
    ["limit=101", "limit", /1 to 100/],
  ] as const) {
    const answer = await operator.browser.send("GET", `${NODES}?${query}`);
    assertRefused(answer, 400, param);
    assert.match(String(answer.body.error?.message), rule);
  }
  assertRefused(await operator.browser.send("GET", `${NODES}?cursor=abc`), 400, "invalid_cursor");
});

test("returns 404 node_not_found for an unknown node", async () => {
  for (const id of [publicId("node", platform.newId()), "node_1", "nonsense"]) {
    for (const answer of [
      await operator.browser.send("GET", `${NODES}/${id}`),
      await quarantine(`${NODES}/${id}`, { reason: "r" }),
      await operator.browser.send("POST", `${NODES}/${id}/release`),
      await operator.browser.send("POST", `${NODES}/${id}/clear`),
    ]) {
      assertRefused(answer, 404, "node_not_found");
    }
  }
});

describe("returns 409 node_state_conflict", () => {
  test("for a release of a node that is not quarantined, and records the attempt in the audit log", async () => {
    const node = await newNode("free");
    const answer = await operator.browser.send("POST", `${at(node)}/release`);
    assertRefused(answer, 409, "node_state_conflict");
    assert.match(String(answer.body.error?.message), /ready/);
    assert.equal((await readLatestAuditEntries(operator, 1))[0]?.outcome, "node_state_conflict");
  });

  test("for a quarantine of a retired node", async () => {
    const node = await newNode("gone");
    await fleet.move(null, node.id, "retire");
    assertRefused(await quarantine(at(node), { reason: "r" }), 409, "node_state_conflict");
  });
});
