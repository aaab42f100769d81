/** Checks from the draw to the quarantine, with a real database and verifiers that the test controls. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { systemClock } from "../../base/clock.ts";
import { newIds, publicId, type Uuid } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { pico } from "../../base/money.ts";
import { systemRandom } from "../../base/random.ts";
import { type ManualClock, manualClock } from "../../base/testing.ts";
import { openTestDatabase, type TestDatabase } from "../../db/testing.ts";
import type { Dispatcher, DispatchResult } from "../../dispatch/dispatcher.ts";
import { newRosterNode, type RosterNode } from "../../dispatch/roster-node.ts";
import type { DrawnAnswer } from "../../inference/gateway.ts";
import type { ActiveModel, Catalogue } from "../../metering/catalogue.ts";
import type { Meter } from "../../metering/meter.ts";
import type { Verdict } from "../reliability.ts";
import { openSpotChecks, type SpotChecks } from "./checker.ts";
import { openCheckReader } from "./reader.ts";
import { checksOf, openCheckStore, pruneChecks } from "./store.ts";
import { seeded } from "./testing.ts";

const MODEL = "tiny-3b";
const HONEST = "a fine answer of more than a dozen plain words that the model itself would give to anybody";
const JUNK =
  "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore";

const meter: Meter = {
  tokenizer: "words",
  tokenizerSha256: "",
  countPrompt: async () => ({ tokens: 5, over: null }),
  openOutput: () => ({
    full: false,
    push: (_channel, text) => text,
    end: () => ({ answerTokens: 17, reasoningTokens: 0 }),
  }),
};
const model = {
  id: MODEL,
  kind: "generation",
  contextLimit: 4096,
  prices: { in: pico(10n), out: pico(40n) },
  build: { id: "b", tokenizer: "words" },
} as unknown as ActiveModel;
const EMBEDDING = "embed-m3";
const WIDTH = 4;
const embedding = {
  ...model,
  id: EMBEDDING,
  kind: "embedding",
  prices: { in: pico(1000n), out: pico(0n) },
  build: { id: "e", tokenizer: "words", vector_width: WIDTH },
} as unknown as ActiveModel;
const catalogue = { active: new Map([model, embedding].map((each) => [each.id, each])) } as unknown as Catalogue;
/** A vector for the topic of a text, as these tests need it. */
const vectorOf = (text: string): number[] => (text === JUNK ? [0, 1, 0, 0.1] : [1, 0, 0, 0.1]);
const FINISHED: DispatchResult = {
  end: "finished",
  finish: "stop",
  server: null,
  attempts: 1,
  queueMs: 0,
  ttftMs: 0,
  pace: null,
};

describe("spot checks", () => {
  const newId = newIds(systemClock, systemRandom());
  let db: TestDatabase;
  let clock: ManualClock;
  let nodes: RosterNode[];
  let checks: SpotChecks;
  let barred: [string, Verdict][];
  let withheld: [Uuid, Date][];
  let paid: [Uuid, bigint][];
  let asked: string[];
  /** By node: the likelihood that it reports for an answer. Undefined: like an honest engine. */
  const odd = new Set<string>();
  let lies: Map<string, (answer: string) => number | undefined>;
  before(async () => {
    db = await openTestDatabase();
  });
  after(() => db.close());

  const openNode = async (): Promise<RosterNode> => {
    const [host, node, owner] = [newId(), newId(), newId()];
    await db.pool.query("insert into account (id, kind, name) values ($1, 'host', 'a host')", [host]);
    await db.pool.query("insert into node (id, account_id, name, agent) values ($1, $2, $3, 'test')", [
      node,
      host,
      node,
    ]);
    const opened = newRosterNode(publicId("node", node), {
      nodeId: node,
      hostAccountId: host,
      models: [MODEL],
      owners: [owner],
    });
    return Object.assign(opened, { models: new Set([MODEL]), slots: 4, scores: { [MODEL]: "text" as const } });
  };

  const open = async (references: Uuid[] = []): Promise<void> => {
    const u = seeded(11);
    const honest = (answer: string): number => (answer === HONEST ? -0.5 - u() / 2 : -8);
    const dispatcher: Pick<Dispatcher, "runOn" | "measured"> = {
      measured() {},
      async runOn(nodeId, order, sink) {
        asked.push(nodeId);
        sink.begin(nodeId);
        const body = order.body as { score?: { answer: string }; input?: string[] };
        if (body.input !== undefined) sink.vectors(0, WIDTH, Float32Array.from(body.input.flatMap(vectorOf)));
        else if (body.score === undefined) sink.delta("answer", HONEST);
        else {
          const likely = lies.get(nodeId)?.(body.score.answer) ?? honest(body.score.answer);
          sink.scored?.(Array.from({ length: 17 }, () => likely));
        }
        return sink.finished() === "answered" ? FINISHED : { ...FINISHED, end: "broken" };
      },
    };
    checks = await openSpotChecks({
      gateway: { dispatcher: dispatcher as Dispatcher, meter: () => meter, catalogue: () => catalogue },
      roster: { nodes: () => nodes, find: (id) => nodes.find((node) => node.id === id) },
      store: openCheckStore(db.pool),
      money: {
        payCheck: async (_id, host, amount) => void paid.push([host, amount]),
        withhold: async (node, since) => void withheld.push([node, since]),
      },
      references: new Set<string>(references),
      falseAlarms: 1e-4,
      quarantine: async (nodeId, verdict) => void barred.push([nodeId, verdict]),
      automatic: true,
      isOdd: (nodeId) => odd.has(nodeId),
      newId,
      clock,
      random: { fill: () => {}, below: (bound) => Math.floor(u() * bound) },
      log: createLog("silent"),
    });
  };
  beforeEach(async () => {
    await db.pool.query("truncate spot_check, spot_check_test, spot_check_node, spot_check_model");
    odd.clear();
    [clock, barred, withheld, paid, asked, lies] = [manualClock(), [], [], [], [], new Map()];
    nodes = await Promise.all([openNode(), openNode(), openNode(), openNode()]);
    await open();
  });

  const check = async (node: RosterNode, text: string): Promise<void> => {
    clock.advance(60_000);
    const answer: DrawnAnswer = {
      requestId: newId(),
      nodeId: node.id,
      endpoint: "chat",
      model,
      sampling: { temperature: 0 },
      formatted: false,
      body: { messages: [{ role: "user", content: "say something" }] },
      outputTokensMax: 100,
      promptTokens: 5,
      completionTokens: 17,
      text,
      reasoning: "",
      vectors: [],
    };
    checks.check(answer);
    await checks.settled();
  };
  const calibrate = async (): Promise<void> => {
    for (let i = 0; i < 180; i++) await check(nodes[i % nodes.length] as RosterNode, HONEST);
  };
  const verdicts = async (node: RosterNode): Promise<Record<string, number>> => {
    const text = "select verdict, count(*)::int as n from spot_check where node_id = $1 group by 1";
    const { rows } = await db.pool.query(text, [node.nodeRecord.nodeId]);
    return Object.fromEntries(rows.map(({ verdict, n }) => [verdict, n]));
  };

  test("bar a node that returns junk, record its scores, and withhold its earnings since its last good check", async () => {
    await calibrate();
    assert.deepEqual(barred, []);
    const [cheat] = nodes as [RosterNode];
    const lastChecked = "select at from spot_check_test where node_id = $1";
    const [since] = (await db.pool.query(lastChecked, [cheat.nodeRecord.nodeId])).rows.map(({ at }) => at);
    for (let i = 0; i < 12 && barred.length === 0; i++) await check(cheat, JUNK);
    assert.equal(barred.length, 1);
    const [nodeId, { reason, evidence }] = (barred as [string, Verdict][])[0] ?? assert.fail();
    assert.deepEqual([nodeId, reason, evidence.model], [cheat.id, "spot_check", MODEL]);
    const scores = evidence.scores as { at: string; score: number }[];
    assert.ok(scores.length >= 3 && scores.every(({ score }) => score === -8));
    assert.doesNotMatch(JSON.stringify(evidence), /lorem/);
    assert.deepEqual(withheld, [[cheat.nodeRecord.nodeId, since]]);
  });

  test("check a node more often that other statistics suspect", async () => {
    const [node] = nodes as [RosterNode];
    node.nodeRecord = { ...node.nodeRecord, answers: { [MODEL]: 100_000 } };
    const drawn = (): number =>
      Array.from({ length: 2_000 }, () => checks.draws(node.id, MODEL)).filter(Boolean).length;
    assert.ok(drawn() < 60);
    odd.add(node.id);
    assert.ok(drawn() > 300);
  });

  test("check answers of a model as often as a new node's, whatever record the node has with other models", async () => {
    const [node] = nodes as [RosterNode];
    node.nodeRecord = { ...node.nodeRecord, answers: { "its-own-model": 100_000 } };
    for (let i = 0; i < 2_000; i++) checks.draws(node.id, "its-own-model");
    const drawn = Array.from({ length: 190 }, () => checks.draws(node.id, MODEL)).filter(Boolean).length;
    assert.ok(drawn > 15, `${drawn} of 190`);
  });

  test("store no text, count answers and pay verifiers 70 % of the price", async () => {
    const [node] = nodes as [RosterNode];
    for (let i = 0; i < 40; i++) checks.draws(node.id, MODEL);
    await check(node, HONEST);
    const { rows } = await db.pool.query("select to_jsonb(c)::text as c from spot_check c");
    assert.equal(rows.length, 1);
    assert.doesNotMatch(rows[0].c, /plain words|say something/);
    assert.deepEqual(await checksOf(db.pool, node.nodeRecord.nodeId), { answers: { [MODEL]: 40 }, checked: 1 });
    assert.deepEqual(await checksOf(db.pool, newId()), { answers: {}, checked: 0 });
    assert.deepEqual(
      paid.map(([, amount]) => amount),
      [((5n + 17n) * 10n * 7n) / 10n],
    );
    assert.notEqual(paid[0]?.[0], node.nodeRecord.hostAccountId);
  });

  test("bar no node because of one lying verifier, and stop asking that verifier", async () => {
    await calibrate();
    const [victim, liar] = nodes as [RosterNode, RosterNode];
    lies.set(liar.id, () => -9);
    for (let i = 0; i < 60; i++) await check(victim, HONEST);
    assert.deepEqual(barred, []);
    assert.ok(((await verdicts(victim)).disputed ?? 0) >= 1);
    asked = [];
    for (let i = 0; i < 20; i++) await check(victim, HONEST);
    assert.equal(asked.filter((id) => id === liar.id).length, 0);
  });

  test("use traps to find a verifier that approves every answer", async () => {
    await calibrate();
    const [victim, lazy] = nodes as [RosterNode, RosterNode];
    lies.set(lazy.id, () => -0.6);
    nodes = [victim, lazy];
    for (let i = 0; i < 200; i++) await check(victim, HONEST);
    assert.ok(((await verdicts(victim)).trap_missed ?? 0) >= 3);
    asked = [];
    await check(victim, HONEST);
    assert.deepEqual(asked, [], "nobody is left to ask");
  });

  test("bar no node for a prompt that makes every node's answer look bad", async () => {
    await calibrate();
    const [node] = nodes as [RosterNode];
    for (const each of nodes) lies.set(each.id, () => -8);
    for (let i = 0; i < 15; i++) await check(node, HONEST);
    assert.deepEqual(barred, []);
    assert.ok(((await verdicts(node)).odd ?? 0) > 0);
  });

  test("accept the result of a single reference node, without payment", async () => {
    await calibrate();
    const [cheat, reference] = nodes as [RosterNode, RosterNode];
    nodes = [cheat, reference];
    await open([reference.nodeRecord.hostAccountId]);
    paid = [];
    for (let i = 0; i < 12 && barred.length === 0; i++) await check(cheat, JUNK);
    assert.equal(barred.length, 1);
    assert.deepEqual(paid, []);
  });

  test("compare answers by embeddings, and pay the embedding node, if no engine can score", async () => {
    for (const node of nodes) node.scores = {};
    const embedder = await openNode();
    embedder.models = new Set([EMBEDDING]);
    nodes.push(embedder);
    const answering = nodes.slice(0, 4);
    for (let i = 0; i < 180; i++) await check(answering[i % 4] as RosterNode, HONEST);
    const { rows } = await db.pool.query("select distinct method from spot_check");
    assert.deepEqual(rows, [{ method: "meaning" }]);
    const price = (5n * 1000n * 7n) / 10n;
    const toEmbedder = paid.filter(([host]) => host === embedder.nodeRecord.hostAccountId);
    assert.deepEqual([toEmbedder.length, new Set(toEmbedder.map(([, amount]) => amount))], [180, new Set([price])]);
    const [cheat] = nodes as [RosterNode];
    for (let i = 0; i < 12 && barred.length === 0; i++) await check(cheat, JUNK);
    assert.deepEqual([barred.length, barred[0]?.[0]], [1, cheat.id]);
  });

  test("compare answers by words if there is no embedding node", async () => {
    for (const node of nodes) node.scores = {};
    await check(nodes[0] as RosterNode, HONEST);
    const { rows } = await db.pool.query("select method, mean from spot_check");
    assert.deepEqual([rows.length, rows[0].method, Math.round(rows[0].mean * 1000)], [1, "words", 1000]);
  });

  test("choose no verifier of the same owner, and drop the check if there is no other", async () => {
    const [node, kin] = nodes as [RosterNode, RosterNode];
    kin.nodeRecord = { ...kin.nodeRecord, owners: [newId(), ...(node.nodeRecord.owners as string[])] };
    nodes = [node, kin];
    await check(node, HONEST);
    assert.deepEqual([asked, checks.counts.dropped], [[], 1]);
  });

  test("keep the evidence against a node over a restart", async () => {
    await calibrate();
    const [cheat] = nodes as [RosterNode];
    for (let i = 0; i < 2; i++) await check(cheat, JUNK);
    await open();
    let more = 0;
    while (barred.length === 0 && more < 12) {
      await check(cheat, JUNK);
      more += 1;
    }
    assert.equal(barred.length, 1);
    assert.ok((barred[0]?.[1].evidence.bad_scores as number) > more - 2);
  });

  const reader = () => openCheckReader({ pool: db.pool, isThere: () => true });

  test("delete old checks and keep their results", async () => {
    const [node] = nodes as [RosterNode];
    await check(node, HONEST);
    await check(node, HONEST);
    const { nodeId } = node.nodeRecord;
    await db.pool.query(
      "update spot_check set at = at - interval '1 day' where id = (select min(id::text)::uuid from spot_check)",
    );
    const { rows } = await db.pool.query<{ newest: Date }>("select max(at) as newest from spot_check");
    assert.equal(await pruneChecks(db.pool, rows[0]?.newest as Date), 1);
    assert.equal((await reader().list(nodeId, { limit: 10 })).length, 1);
    assert.equal((await checksOf(db.pool, nodeId)).checked, 2);
  });

  test("sum checks by node and model, without traps", async () => {
    const [node] = nodes as [RosterNode];
    await check(node, HONEST);
    await check(node, HONEST);
    await db.pool.query(
      "update spot_check set verdict = 'trap_seen' where id = (select max(id::text)::uuid from spot_check)",
    );
    const { nodeId } = node.nodeRecord;
    const sums = await reader().sums(new Date(0), nodeId);
    assert.deepEqual(
      sums.map(({ model: id, checks: n, bad, cost }) => [id, n, bad, cost]),
      [[MODEL, 1, 0, 154n]],
    );
    assert.deepEqual(await reader().sums(new Date(0), nodes[1]?.nodeRecord.nodeId), []);
    const [kept] = await reader().list(nodeId, { limit: 10 });
    assert.deepEqual([kept?.model, kept?.verdict], [MODEL, "unjudged"]);
    assert.deepEqual(await reader().list(nodeId, { before: kept?.id, limit: 10 }), []);
    const models = (await reader().models(new Date(0))).map(({ checks: n, cost }) => [n, cost]);
    assert.deepEqual(models, [[1, 308n]], "what a trap costs is a cost of checks");
  });
});
