/** For tests: the trust in nodes with its dispatcher, on a plane in memory and a clock that the test moves. */
import type { JobHeader } from "@tollgate/protocol/frames.ts";
import { newIds, type Uuid } from "../base/ids.ts";
import { createLog } from "../base/log.ts";
import { pico } from "../base/money.ts";
import { manualClock, seededRandom, waitOneTurn } from "../base/testing.ts";
import { openDispatcher } from "../dispatch/dispatcher.ts";
import { Roster } from "../dispatch/roster.ts";
import { FakeNode, MemoryPlane } from "../dispatch/testing.ts";
import { NO_OBSERVED_COUNTS, type ObservedNodeCounts } from "../fleet/node-record.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import type { TokenMeter } from "../metering/token-meter.ts";
import { questionFromCanary } from "./canary.ts";
import type { RequestShape } from "./questions/request-shapes.ts";
import type { QuarantineVerdict } from "./reliability.ts";
import { watchNodes } from "./trust.ts";

/** Counts one token per word. */
const meter: TokenMeter = {
  tokenizer: "words",
  tokenizerSha256: "",
  countPrompt: async () => ({ tokens: 5, over: null }),
  openOutput() {
    let words = 0;
    return {
      full: false,
      push(_channel, text) {
        words += text.split(" ").length;
        return text;
      },
      end: () => ({ answerTokens: words, reasoningTokens: 0 }),
    };
  },
};
export const NO_SINK = {
  begin() {},
  delta: () => "more" as const,
  vectors: () => "broken" as const,
  finished: () => "answered" as const,
  reachedClient: false,
};

export type TrustRig = ReturnType<typeof openTrustRig>;

/** `automatic`: whether nodes are quarantined automatically. */
export function openTrustRig({ automatic = true } = {}) {
  const [clock, plane] = [manualClock(), new MemoryPlane()];
  const barred: [string, QuarantineVerdict][] = [];
  const recorded: [string, ObservedNodeCounts][] = [];
  const model: ActiveModel = {
    id: "tiny-3b",
    kind: "generation",
    class: "tiny",
    contextLimit: 100,
    prices: { in: pico(1n), out: pico(1n) },
    priceVersion: 1,
    build: { id: "b", tokenizer: "words" },
    admissionMax: undefined,
    speedMax: 1000,
    readingSpeedMax: 1_000_000,
    canaries: [{ prompt: "7 + 5?", expect: "12", max_tokens: 8 }],
  };
  const [log, random] = [createLog("silent"), seededRandom(1)];
  const nodeRecord = async (id: string) => ({
    nodeId: id as Uuid,
    hostAccountId: `host of ${id}` as Uuid,
    models: ["tiny-3b"],
  });
  const roster = new Roster({ plane, clock, random, log, nodeRecord });
  const dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId: "gw1", deadlineMs: 10_000 });
  const catalogue = () => ({ priceVersion: 1, entries: [], active: new Map([["tiny-3b", model]]) });
  const trust = watchNodes({
    gateway: { dispatcher, meter: () => meter, catalogue },
    roster,
    quarantine: async (id, verdict) => void barred.push([id, verdict]),
    automatic,
    draw: ({ canaries }, _which, like) => {
      if (like?.shape !== undefined) rig.imitated.push(like.shape);
      const [first] = canaries ?? [];
      return first === undefined ? undefined : questionFromCanary(first);
    },
    record: async (seen) => void recorded.push(...seen),
    lastDay: async () => ({
      own: { ...NO_OBSERVED_COUNTS, ...rig.lastDay },
      host: { ...NO_OBSERVED_COUNTS, ...rig.lastDayOfHost },
    }),
    newId: newIds(clock, random),
    clock,
    random: { ...random, below: (bound) => rig.below?.(bound) ?? random.below(bound) },
    log,
  });
  const jobs = (node: FakeNode): number => node.heard.filter(({ kind }) => kind === "job").length;
  const rig = {
    clock,
    plane,
    roster,
    dispatcher,
    trust,
    model,
    /** The nodes that were quarantined. */
    barred,
    recorded,
    /** The shapes of requests that canaries were to imitate. */
    imitated: [] as RequestShape[],
    /** What the database has about the node and about its host before the node joins. */
    lastDay: {} as Partial<ObservedNodeCounts>,
    lastDayOfHost: {} as Partial<ObservedNodeCounts>,
    /** Replaces the randomness where a test needs to know when the next canary is due. */
    below: undefined as ((bound: number) => number) | undefined,
    /** Connects a node that reports its state. */
    async join(id = "a"): Promise<FakeNode> {
      const node = new FakeNode(plane, { id, gatewayId: "gw1" });
      node.report({ models: ["tiny-3b"], slots: 4, json_schema: ["tiny-3b"] });
      await waitOneTurn();
      return node;
    },
    async answer(node: FakeNode, nth: number, text: string): Promise<JobHeader | undefined> {
      const job = await node.job(nth);
      node.say({ kind: "accepted", job });
      node.delta(job, 0, text);
      clock.advance(500);
      node.delta(job, 1, " end");
      node.say({ kind: "done", job, seq: 2, finish: "stop" });
      await waitOneTurn();
      await waitOneTurn();
      return node.heard.flatMap((frame) => (frame.kind === "job" ? [frame.header] : []))[nth - 1];
    },
    /** Advances the clock until the node gets an offer. The node reports its state every few seconds. */
    async pass(node: FakeNode, ms: number): Promise<void> {
      const before = jobs(node);
      for (let left = ms; left > 0 && jobs(node) === before; left -= 5000) {
        clock.advance(Math.min(left, 5000));
        node.report({ models: ["tiny-3b"], slots: 4, json_schema: ["tiny-3b"] });
        await waitOneTurn();
      }
    },
    jobs,
  };
  return rig;
}
