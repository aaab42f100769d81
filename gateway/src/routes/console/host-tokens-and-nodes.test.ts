/**
 * Tests a host's tokens and nodes in the console. The tests are ordered by HTTP status. Tests with connected nodes are
 * in e2e.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { parseId, publicId, type Uuid } from "../../base/ids.ts";
import { type Fleet, type Node, openFleet } from "../../fleet/fleet.ts";
import { NODE_RULES } from "../../fleet/node-standing-rules.ts";
import { openTestPlatform, type TestPlatform } from "../testing/platform.ts";
import { assertRefused, type Person, signInTestPerson } from "../testing/sign-in-test-person.ts";

const API = "/console/api";

let platform: TestPlatform;
let fleet: Fleet;
let owner: Person;
let accountId: Uuid;
before(async () => {
  platform = await openTestPlatform();
  fleet = openFleet({ ...platform, rules: { ...NODE_RULES, probationNodesMax: 100 } });
  owner = await signInTestPerson(platform, [{ kind: "host" }]);
  accountId = owner.accountIds[0] as Uuid;
});
after(() => platform.close());

const newNode = (name: string, account = accountId): Promise<Node> =>
  fleet.register(account, { name, hardware: { gpu: "one" }, agent: "tollgate-host 0.1" });
const at = (node: Node): string => `${API}/nodes/${publicId("node", node.id)}`;
const listed = async ({ browser }: Person, url: string): Promise<Record<string, unknown>[]> =>
  (await browser.send("GET", `${API}/${url}`)).body.data as Record<string, unknown>[];

describe("status 201", () => {
  test("returns a new host token's secret only once", async () => {
    const answer = await owner.browser.send("POST", `${API}/host-tokens`, { body: { name: "workshop" } });
    assert.equal(answer.status, 201);
    const { secret, ...shown } = answer.body;
    const { id, start, created_at } = shown;
    assert.match(String(secret), /^tht_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}$/);
    assert.ok(String(secret).startsWith(`${start}_`));
    assert.match(String(id), /^hst_[0-9a-z]{26}$/);
    const rest = { name: "workshop", start, created_at, last_used_at: null, revoked_at: null };
    assert.deepEqual(shown, { id, object: "host_token", ...rest });
    const list = await owner.browser.send("GET", `${API}/host-tokens`);
    assert.deepEqual(list.body.data, [shown]);
    assert.ok(!list.text.includes(String(secret)));
  });
});

describe("status 200", () => {
  test("revokes a token permanently, and a repetition changes nothing", async () => {
    const { body } = await owner.browser.send("POST", `${API}/host-tokens`, { body: { name: "old" } });
    const url = `${API}/host-tokens/${body.id}`;
    const revoked = await owner.browser.send("DELETE", url);
    assert.equal(revoked.status, 200);
    assert.ok(Number(revoked.body.revoked_at) > 0);
    assert.deepEqual((await owner.browser.send("DELETE", url)).body, revoked.body);
  });

  test("returns all nodes or one node with their statistics, and the models that the host can elect", async () => {
    const node = await newNode("barn");
    const shown = {
      id: publicId("node", node.id),
      object: "node",
      name: "barn",
      state: "registered",
      models: [],
      agent: "tollgate-host 0.1",
      quarantine: null,
      probation: { answers: 0, needed: 20 },
      withheld: null,
    };
    const inList = (await listed(owner, "nodes")).find(({ id }) => id === shown.id);
    const { created_at, ...rest } = inList ?? {};
    assert.deepEqual(rest, shown);
    const one = await owner.browser.send("GET", at(node));
    const { stats, as_of, ...object } = one.body as { stats: Record<string, unknown>; as_of: number };
    assert.equal(typeof as_of, "number");
    assert.deepEqual(object, { ...shown, hardware: { gpu: "one" }, created_at });
    assert.deepEqual(stats.today, { requests: 0, prompt_tokens: 0, completion_tokens: 0, earned_micro: "0.000000" });
    assert.deepEqual([stats.object, stats.connected, stats.node], ["node_stats", false, shown.id]);
    const models = await listed(owner, "node-models");
    assert.deepEqual(
      models.map(({ model }) => model),
      ["tiny-3b", "small-8b", "small-7b-alt", "mid-14b", "reason-32b", "embed-m3"],
    );
  });

  test("lists every node once over all pages, without the large hardware descriptions", async () => {
    const many = await signInTestPerson(platform, [{ kind: "host" }]);
    await platform.pool.query(
      `insert into node (id, account_id, name, hardware)
         select gen_random_uuid(), $1, 'n' || i, jsonb_build_object('notes', repeat('x', 60000))
           from generate_series(1, 100) i`,
      [many.accountIds[0]],
    );
    const seen = new Set<unknown>();
    for (let cursor: unknown; cursor !== null; ) {
      const { body, text } = await many.browser.send(
        "GET",
        `${API}/nodes${cursor === undefined ? "" : `?cursor=${cursor}`}`,
      );
      assert.ok(text.length < 64 * 1024, `${text.length} characters`);
      const data = body.data as { id: string }[];
      assert.ok(data.length <= 50);
      for (const { id } of data) seen.add(id);
      cursor = body.next_cursor;
    }
    assert.equal(seen.size, 100);
    const { body } = await many.browser.send("GET", `${API}/nodes?limit=2`);
    assertRefused(await owner.browser.send("GET", `${API}/nodes?cursor=${body.next_cursor}`), 400, "invalid_cursor");
    assertRefused(await owner.browser.send("GET", `${API}/nodes?limit=101`), 400, "limit");
  });

  test("shows that a node gets no requests because another node of its host is quarantined", async () => {
    const host = await signInTestPerson(platform, [{ kind: "host" }]);
    const account = host.accountIds[0] as Uuid;
    const bad = await newNode("bad", account);
    await fleet.quarantine(bad.id, { reason: "canary", evidence: {}, by: "platform" });
    const { body } = await host.browser.send("GET", at(await newNode("next", account)));
    assert.deepEqual([body.state, body.withheld], ["registered", "host_quarantine"]);
    assert.equal((body.stats as { withheld: string }).withheld, "host_quarantine");
  });

  test("choosing models makes a node ready, pausing makes it paused, and resuming makes it ready again", async () => {
    const node = await newNode("shed");
    const move = async (method: "PUT" | "POST", path: string, body?: object) => {
      const answer = await owner.browser.send(method, `${at(node)}/${path}`, body && { body });
      assert.equal(answer.status, 200, answer.text);
      return [answer.body.state, answer.body.models];
    };
    const models = ["small-8b", "tiny-3b"];
    assert.deepEqual(await move("PUT", "elections", { models: ["tiny-3b", "small-8b", "tiny-3b"] }), ["ready", models]);
    assert.deepEqual(await move("POST", "pause"), ["paused", models]);
    assert.deepEqual(await move("POST", "resume"), ["ready", models]);
    assert.deepEqual(await move("PUT", "elections", { models: [] }), ["registered", []]);
  });
});

describe("status 400", () => {
  test("names an invalid field and its rule", async () => {
    const node = await newNode("for 400");
    const send = owner.browser.send.bind(owner.browser);
    for (const [answer, param, rule] of [
      [await send("POST", `${API}/host-tokens`, { body: {} }), "name", /is required/],
      [await send("POST", `${API}/host-tokens`, { body: { name: "a\u0000" } }), "name", /control characters/],
      [await send("PUT", `${at(node)}/elections`, { body: { models: "tiny-3b" } }), "models", /array of model IDs/],
      [
        await send("PUT", `${at(node)}/elections`, { body: { models: ["tiny-3b", "large-70b"] } }),
        "models[1]",
        /active/,
      ],
    ] as const) {
      assertRefused(answer, 400, param);
      assert.match(String(answer.body.error?.message), rule);
    }
    assert.deepEqual((await fleet.find(accountId, node.id))?.models, []);
  });
});

describe("status 404", () => {
  test("returns the same not_found for another host's token and for an unknown token", async () => {
    const stranger = await signInTestPerson(platform, [{ kind: "host" }]);
    const { body } = await owner.browser.send("POST", `${API}/host-tokens`, { body: { name: "mine" } });
    const answers: unknown[] = [];
    for (const id of [body.id, publicId("hst", platform.newId()), "hst_1", "nonsense"]) {
      const answer = await stranger.browser.send("DELETE", `${API}/host-tokens/${id}`);
      assertRefused(answer, 404, "not_found");
      answers.push(answer.body);
    }
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
    const { rows } = await platform.pool.query("select revoked_at from host_token where id = $1", [
      parseId("hst", String(body.id)),
    ]);
    assert.deepEqual(rows, [{ revoked_at: null }]);
  });

  test("returns the same node_not_found for another host's node and for an unknown node, whatever the body", async () => {
    const stranger = await signInTestPerson(platform, [{ kind: "host" }]);
    const node = await newNode("not yours");
    await fleet.elect(accountId, node.id, ["tiny-3b"]);
    const answers: unknown[] = [];
    for (const id of [publicId("node", node.id), publicId("node", platform.newId()), "nonsense"]) {
      for (const [method, path, body] of [
        ["GET", ""],
        ["PUT", "/elections", { models: [] }],
        ["PUT", "/elections", { models: "nonsense" }],
        ["POST", "/pause"],
        ["POST", "/resume"],
      ] as const) {
        const answer = await stranger.browser.send(method, `${API}/nodes/${id}${path}`, body && { body });
        assertRefused(answer, 404, "node_not_found");
        answers.push(answer.body);
      }
    }
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
    assert.equal((await fleet.find(accountId, node.id))?.standing, "ready");
    assert.deepEqual(await listed(stranger, "nodes"), []);
    const filtered = await stranger.browser.send("GET", `${API}/earnings?node=${publicId("node", node.id)}`);
    assert.deepEqual([filtered.status, filtered.body.data], [200, []]);
  });
});

describe("status 409", () => {
  test("returns node_state_conflict, which names the node's state, for a change that this state does not allow", async () => {
    const node = await newNode("nothing elected");
    for (const move of ["pause", "resume"]) {
      const answer = await owner.browser.send("POST", `${at(node)}/${move}`);
      assertRefused(answer, 409, "node_state_conflict");
      assert.match(String(answer.body.error?.message), /registered/);
    }
  });

  test("refuses to resume a quarantined node (node_quarantined), and shows its host the reason", async () => {
    const node = await newNode("smoking");
    await fleet.elect(accountId, node.id, ["tiny-3b"]);
    await fleet.quarantine(node.id, { reason: "failures", evidence: { failures: 5 }, by: "platform" });
    assertRefused(await owner.browser.send("POST", `${at(node)}/resume`), 409, "node_quarantined");
    const { state, quarantine } = (await owner.browser.send("GET", at(node))).body as Record<string, unknown>;
    const { at: since, ...why } = quarantine as Record<string, unknown>;
    assert.deepEqual([state, why], ["quarantined", { reason: "failures", evidence: { failures: 5 } }]);
    assert.ok(Number(since) > 0);
  });
});
