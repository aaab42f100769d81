/** For tests: probes of one node, which is a function from a job to its result. */
import { newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { type ManualClock, manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import type { MeasuredAnswer } from "../dispatch/dispatcher.ts";
import type { Roster } from "../dispatch/roster.ts";
import type { RosterNode } from "../dispatch/roster-node.ts";
import type { UnpaidJob, UnpaidJobResult } from "../inference/unpaid-job.ts";
import type { ActiveModel, Canary } from "../metering/catalogue.ts";
import { openCanaryRecords } from "./canary-records.ts";
import { openCanarySource } from "./canary-source.ts";
import { type Probes, startProbes } from "./probes.ts";
import { randomChoices } from "./questions/random-choices.ts";
import { pickUsualRequestShape, type RequestShape } from "./questions/request-shapes.ts";
import type { QuarantineVerdict } from "./reliability.ts";
import { answerPublishedCanary, RecordedCanaries } from "./testing.ts";
import { TrafficRates } from "./traffic-rates.ts";

const random = seededRandom(1);
export const book = new RecordedCanaries();
export const promptOf = ({ messages, texts }: UnpaidJob): string => messages.at(-1)?.content ?? texts[0] ?? "";
/** Returns an honest model's answer. Undefined: any answer is accepted. */
export const rightAnswer = (job: UnpaidJob): string | undefined =>
  book.answerTo(job.messages) ?? answerPublishedCanary(promptOf(job));
export const PUBLISHED: Canary[] = [
  { prompt: "What is 7 + 5? Answer with the number only.", expect: "\\b12\\b", max_tokens: 24 },
  { prompt: "Which city is the capital of France? Answer with one word.", expect: "(?i:paris)", max_tokens: 24 },
  { prompt: "What does a keeper keep alight at sea?", expect: "(?i:lighthouse)", max_tokens: 24 },
];

export class ProbesRig {
  clock!: ManualClock;
  model!: ActiveModel;
  node!: RosterNode;
  joined: ((node: RosterNode) => void)[] = [];
  measured: ((measured: MeasuredAnswer) => void)[] = [];
  jobs: UnpaidJob[] = [];
  suspected: QuarantineVerdict[] = [];
  answer!: (job: UnpaidJob, signal: AbortSignal) => Promise<Partial<UnpaidJobResult> | undefined>;
  probes!: Probes;
  shape!: RequestShape;
  /** How often the node was made the last choice for requests. */
  shunned = 0;
  traffic!: TrafficRates;

  constructor() {
    this.start();
  }

  start(canaries = true): void {
    [this.clock, this.joined, this.measured, this.jobs, this.suspected] = [manualClock(), [], [], [], []];
    this.shape = pickUsualRequestShape(randomChoices(random));
    this.traffic = new TrafficRates();
    this.model = {
      id: "m",
      kind: "generation",
      class: "tiny",
      contextLimit: 4096,
      prices: { in: pico(1n), out: pico(1n) },
      priceVersion: 1,
      build: { id: "b", tokenizer: "t" },
      admissionMax: undefined,
      speedMax: 1000,
      readingSpeedMax: 1_000_000,
      canaries: PUBLISHED,
    };
    this.node = {
      id: "a",
      nodeRecord: { nodeId: "a" as Uuid, hostAccountId: "h" as Uuid, models: ["m"] },
      reported: ["m"],
      models: new Set(["m"]),
      formats: new Set(),
      keywords: new Set(),
      scores: {},
      reportedSlots: 4,
      reportedBusy: 0,
      engineSlots: null,
      acceptsEarly: true,
      inGoodStanding: true,
      slots: 4,
      outstanding: 0,
      draining: false,
      seenAt: 0,
      shunnedUntil: 0,
    };
    const roster = {
      onJoin: (run: (node: RosterNode) => void) => void this.joined.push(run),
      onGone: () => {},
      nodes: () => [this.node],
      find: (id: string) => (id === "a" ? this.node : undefined),
      shun: () => void this.shunned++,
    } as unknown as Roster;
    this.probes = startProbes({
      roster,
      dispatcher: { onMeasured: (run) => void this.measured.push(run) },
      run: async (job, signal) => {
        this.jobs.push(job);
        const result = await this.answer(job, signal);
        if (result === undefined) return undefined;
        const text = result.text ?? "";
        return {
          end: "finished",
          finish: "stop",
          text,
          reasoning: "",
          vectors: [],
          promptTokens: 5,
          completionTokens: text === "" ? 0 : 3,
          ttftMs: 1,
          tokensPerSecond: 1,
          ...result,
        };
      },
      activeModel: (id) => (id === "m" ? this.model : undefined),
      canaries,
      draw: openCanarySource({ secrets: new Map(), random, makeUp: book.makeUp }),
      shapes: { like: () => this.shape },
      traffic: this.traffic,
      gateways: () => 1,
      records: openCanaryRecords({
        peers: undefined,
        hostOf: () => "h",
        judged: (_node, evidence) => void this.suspected.push({ reason: "canary", evidence }),
      }),
      suspect: (_node, verdict) => void this.suspected.push(verdict),
      newId: newIds(this.clock, random),
      clock: this.clock,
      random,
      log: createLog("silent"),
    });
  }

  /** Waits for the promises of consecutive probes. */
  async settle(): Promise<void> {
    for (let i = 0; i < 5; i++) await waitOneTurn();
  }

  async join(): Promise<void> {
    for (const run of this.joined) run(this.node);
    await this.settle();
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 10_000) {
      this.clock.advance(10_000);
      await this.settle();
    }
  }
}
