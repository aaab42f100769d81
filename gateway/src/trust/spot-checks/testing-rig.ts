/** For tests: spot checks on a real database, with nodes and verifiers that the test controls. */
import { systemClock } from "../../base/clock.ts";
import { newIds, publicId, type Uuid } from "../../base/ids.ts";
import { createLog } from "../../base/log.ts";
import { pico } from "../../base/money.ts";
import { systemRandom } from "../../base/random.ts";
import { type ManualClock, manualClock } from "../../base/testing.ts";
import type { TestDatabase } from "../../db/testing.ts";
import type { DispatchResult } from "../../dispatch/dispatch-result.ts";
import type { Dispatcher } from "../../dispatch/dispatcher.ts";
import { createRosterNode, type RosterNode } from "../../dispatch/roster-node.ts";
import type { AnswerToSpotCheck } from "../../inference/request-path-dependencies.ts";
import type { ActiveModel, Catalogue } from "../../metering/catalogue.ts";
import type { TokenMeter } from "../../metering/token-meter.ts";
import type { QuarantineVerdict } from "../reliability.ts";
import { openSpotChecks, type SpotChecks } from "./checker.ts";
import { type CheckStore, openCheckStore, type VerifierPayment } from "./store.ts";
import { createSeededRandom } from "./testing.ts";

export const MODEL = "tiny-3b";
export const RIG_EMBEDDING_MODEL = "embed-m3";
export const HONEST_ANSWER =
  "a fine answer of more than a dozen plain words that the model itself would give to anybody";
export const JUNK_ANSWER =
  "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore";
const WIDTH = 4;

const wordsOf = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length;
/** A meter that counts words. */
const meter: TokenMeter = {
  tokenizer: "words",
  tokenizerSha256: "",
  countPrompt: async (prompt) => ({
    tokens: prompt.kind === "texts" ? prompt.texts.reduce((sum, text) => sum + wordsOf(text), 0) : 5,
    over: null,
  }),
  openOutput: () => {
    let text = "";
    return {
      full: false,
      push(_channel, more) {
        text += more;
        return more;
      },
      end: () => ({ answerTokens: wordsOf(text), reasoningTokens: 0 }),
    };
  },
};
const model = {
  id: MODEL,
  kind: "generation",
  contextLimit: 4096,
  prices: { in: pico(10n), out: pico(40n) },
  build: { id: "b", tokenizer: "words" },
} as unknown as ActiveModel;
const embedding = {
  ...model,
  id: RIG_EMBEDDING_MODEL,
  kind: "embedding",
  prices: { in: pico(1000n), out: pico(0n) },
  build: { id: "e", tokenizer: "words", vector_width: WIDTH },
} as unknown as ActiveModel;
const catalogue = { active: new Map([model, embedding].map((each) => [each.id, each])) } as unknown as Catalogue;
/** A test vector: one direction for junk, another for every other text. */
export const makeTestVector = (text: string): number[] => (text === JUNK_ANSWER ? [0, 1, 0, 0.1] : [1, 0, 0, 0.1]);
const FINISHED: DispatchResult = {
  end: "finished",
  finish: "stop",
  server: null,
  attempts: 1,
  queueMs: 0,
  ttftMs: 0,
  pace: null,
};

export class CheckerRig {
  readonly newId = newIds(systemClock, systemRandom());
  readonly #db: TestDatabase;
  clock: ManualClock = manualClock();
  nodes: RosterNode[] = [];
  checks!: SpotChecks;
  barred: [string, QuarantineVerdict][] = [];
  withheld: [Uuid, Date][] = [];
  paid: [Uuid, bigint][] = [];
  /** If set, recording a check fails with this error. */
  recordFailure: Error | undefined;
  /** The IDs of the nodes that got a job, in order. `jobs`: the jobs themselves. */
  asked: string[] = [];
  jobs: { nodeId: string; inputs: readonly string[]; outputTokensMax: number }[] = [];
  readonly odd = new Set<string>();
  readonly unreliable = new Set<string>();
  /** By node ID: returns the likelihood that the node reports for an answer. Undefined: the honest one. */
  lies = new Map<string, (answer: string) => number | undefined>();
  /** By node ID: returns the answer that the node gives when a check asks it to answer the prompt itself. */
  answers = new Map<string, () => string>();

  constructor(db: TestDatabase) {
    this.#db = db;
  }

  /** Sets up four nodes of four hosts with scoring engines, and deletes all records. */
  async reset(): Promise<void> {
    await this.#db.pool.query("truncate spot_check, spot_check_test, spot_check_verifier");
    this.odd.clear();
    this.unreliable.clear();
    this.recordFailure = undefined;
    this.clock = manualClock();
    [this.barred, this.withheld, this.paid, this.asked, this.jobs] = [[], [], [], [], []];
    [this.lies, this.answers] = [new Map(), new Map()];
    this.nodes = await Promise.all([this.openNode(), this.openNode(), this.openNode(), this.openNode()]);
    await this.open();
  }

  async openNode(): Promise<RosterNode> {
    const [host, node, owner] = [this.newId(), this.newId(), this.newId()];
    const { pool } = this.#db;
    await pool.query("insert into account (id, kind, name) values ($1, 'host', 'a host')", [host]);
    await pool.query("insert into node (id, account_id, name, agent) values ($1, $2, $3, 'test')", [node, host, node]);
    const opened = createRosterNode(publicId("node", node), {
      nodeId: node,
      hostAccountId: host,
      models: [MODEL],
      owners: [owner],
    });
    return Object.assign(opened, { models: new Set([MODEL]), slots: 4, scores: { [MODEL]: "text" as const } });
  }

  async open(references: Uuid[] = []): Promise<void> {
    const u = createSeededRandom(11);
    const honest = (answer: string): number => (answer === HONEST_ANSWER ? -0.5 - u() / 2 : -8);
    const dispatcher: Pick<Dispatcher, "runOn" | "measured"> = {
      measured() {},
      runOn: async (nodeId, order, sink) => {
        const body = order.body as { score?: { answer: string }; input?: string[] };
        this.asked.push(nodeId);
        this.jobs.push({ nodeId, inputs: body.input ?? [], outputTokensMax: order.header.output_tokens_max });
        sink.begin(nodeId);
        if (body.input !== undefined) sink.vectors(0, WIDTH, Float32Array.from(body.input.flatMap(makeTestVector)));
        else if (body.score === undefined) {
          const text = this.answers.get(nodeId)?.() ?? HONEST_ANSWER;
          sink.delta(
            "answer",
            text
              .split(/(?<=\s)/)
              .slice(0, order.header.output_tokens_max)
              .join(""),
          );
        } else {
          const likely = this.lies.get(nodeId)?.(body.score.answer) ?? honest(body.score.answer);
          sink.scored?.(Array.from({ length: wordsOf(body.score.answer) }, () => likely));
        }
        const end = sink.finished();
        return end === "answered" ? FINISHED : { ...FINISHED, end };
      },
    };
    this.checks = await openSpotChecks({
      gateway: { dispatcher: dispatcher as Dispatcher, meter: () => meter, catalogue: () => catalogue },
      roster: { nodes: () => this.nodes, find: (id) => this.nodes.find((node) => node.id === id) },
      store: this.#store(),
      money: {
        withhold: async (node, since) => void this.withheld.push([node, since]),
      },
      references: new Set<string>(references),
      falseAlarms: 1e-4,
      quarantine: async (nodeId, verdict) => void this.barred.push([nodeId, verdict]),
      automatic: true,
      isOdd: (nodeId) => this.odd.has(nodeId),
      isUnreliable: (nodeId) => this.unreliable.has(nodeId),
      newId: this.newId,
      clock: this.clock,
      random: { fill: () => {}, below: (bound) => Math.floor(u() * bound) },
      log: createLog("silent"),
    });
  }

  /** A store that keeps the verifiers' earnings in memory. */
  #store(): CheckStore {
    const store = openCheckStore(this.#db.pool);
    const note = (payments: readonly VerifierPayment[]): void => {
      this.paid.push(...payments.map(({ hostId, amount }): [Uuid, bigint] => [hostId, amount]));
    };
    return {
      ...store,
      owe: async (payments) => note(payments),
      record: async (check, noted, payments) => {
        const failure = this.recordFailure;
        if (failure !== undefined) throw failure;
        note(payments);
        return await store.record(check, noted, []);
      },
    };
  }

  async check(node: RosterNode, text: string, of: Partial<AnswerToSpotCheck> = {}): Promise<void> {
    this.clock.advance(60_000);
    this.checks.check({
      requestId: this.newId(),
      nodeId: node.id,
      endpoint: "chat",
      model,
      sampling: { temperature: 0 },
      formatted: false,
      body: { messages: [{ role: "user", content: "say something" }] },
      outputTokensMax: 100,
      promptTokens: 5,
      completionTokens: wordsOf(text),
      text,
      reasoning: "",
      vectors: [],
      ...of,
    });
    await this.checks.settled();
  }

  /** Runs a check of the vectors that the node returned for these texts. */
  checkVectors = (node: RosterNode, input: string[], vectors: Float32Array[]): Promise<void> =>
    this.check(node, "", {
      ...{ endpoint: "embedding", model: embedding, sampling: {}, outputTokensMax: 0 },
      body: Buffer.from(JSON.stringify({ input })),
      ...{ promptTokens: input.reduce((sum, text) => sum + wordsOf(text), 0), completionTokens: 0, vectors },
    });

  async calibrate(): Promise<void> {
    const nodes = [...this.nodes];
    for (let i = 0; i < 180; i++) await this.check(nodes[i % nodes.length] as RosterNode, HONEST_ANSWER);
  }

  async verdicts(node: RosterNode): Promise<Record<string, number>> {
    const text = "select verdict, count(*)::int as n from spot_check where node_id = $1 group by 1";
    const { rows } = await this.#db.pool.query(text, [node.nodeRecord.nodeId]);
    return Object.fromEntries(rows.map(({ verdict, n }) => [verdict, n]));
  }
}
