/**
 * Sends probes: small jobs for nodes when they join and every few minutes afterwards. They measure a node's speed
 * before it has traffic. Some are canaries, which show whether the node runs the model that it claims. Nodes cannot
 * distinguish probes from requests. Measurements of speed go to idle nodes, canaries to nodes with a free slot: a node
 * that gets canaries only while it is idle could cheat in all requests that it gets while it is busy.
 */
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Roster } from "../dispatch/roster.ts";
import type { RosterNode } from "../dispatch/roster-node.ts";
import type { UnpaidJob, UnpaidJobResult } from "../inference/unpaid-job.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import { type CanaryQuestion, EASIEST_CANARY_PASS_RATE } from "./canary.ts";
import type { CanaryRecords, RateOfOthers } from "./canary-records.ts";
import type { DrawCanary } from "./canary-source.ts";
import { type CanaryTimes, CanaryTiming } from "./canary-times.ts";
import { createSpeedTestQuestion } from "./generated-canaries.ts";
import { type FormatType, SCHEMA_KEYWORDS_USED } from "./questions/json-answers.ts";
import type { RecentRequestShapes, RequestShape } from "./questions/request-shapes.ts";
import { findImpossibleReadingSpeed } from "./reading-speed.ts";
import type { QuarantineVerdict } from "./reliability.ts";
import type { TrafficRates } from "./traffic-rates.ts";

/** How often it is decided which nodes get a probe. A probe is sent at a random time of the period that follows. */
const LOOK_EVERY_MS = 10_000;
/** How long a speed measurement of a node and model stays valid. Until then no speed probe is needed. */
const FRESH_FOR_MS = 5 * 60_000;
/** The random variation of `FRESH_FOR_MS`, so that nodes cannot predict probes. */
const FRESH_MORE_OR_LESS_MS = 45_000;
/** How often a node that has no free slot is tried again while a canary is due to confirm a failure. */
const CONFIRM_AGAIN_MS = 250;
/** After a failed canary, this many refusals by a node with free slots count as another failure. */
const DECLINED_MAX = 6;
const PROBE_TOKENS = 24;
/** A probe may take this long for its prompt, plus `TOKEN_MS_MAX` for each token that its answer may have. */
const PROBE_MS_MAX = 60_000;
const TOKEN_MS_MAX = 250;
interface ProbesOptions {
  roster: Roster;
  dispatcher: Pick<Dispatcher, "onMeasured">;
  run: (job: UnpaidJob, signal: AbortSignal) => Promise<UnpaidJobResult | undefined>;
  activeModel: (id: string) => ActiveModel | undefined;
  /** Whether probes include canaries. */
  canaries: boolean;
  draw: DrawCanary;
  /** The shapes of recent user requests, for canaries to imitate. */
  shapes: Pick<RecentRequestShapes, "like">;
  traffic: Pick<TrafficRates, "busyness" | "gapMs">;
  /** The evidence from canaries, over all gateways. */
  records: CanaryRecords;
  /** The number of gateways that send canaries. */
  gateways: () => number;
  suspect: (nodeId: string, verdict: QuarantineVerdict) => void;
  newId: () => Uuid;
  clock: Clock;
  random: Random;
  log: Log;
}

/** The result of a probe; `absent` when the node was not connected or declined. */
type Asked = "answered" | "empty" | "failed" | "absent";

export interface Probes {
  /** Probes this node now, whether it is busy or idle. A wrong answer counts as in any other probe. */
  ask(nodeId: string, model: string): Promise<Asked>;
  stop(): Promise<void>;
}

interface Watched {
  probing: boolean;
  /** Cancels the next look at the node, if one is planned. */
  unplan: (() => void) | undefined;
  models: Map<string, Entry>;
}

/** The state of one model on one node. Times are monotonic milliseconds. */
interface Entry {
  /** The end of the time in which the measured speed counts as known. */
  freshUntil: number;
  canaries: CanaryTimes;
  /** Whether the node passed its latest canary. */
  proven: boolean;
  /** The number of consecutive refusals after a failed canary. */
  declined: number;
  /** The earliest time of the next probe, set after a probe without anything to judge. */
  notBefore: number;
}

export function startProbes(options: ProbesOptions): Probes {
  const { roster, dispatcher, clock, log, random } = options;
  const nodesOf = (model: string): number => roster.nodes().filter(({ models }) => models.has(model)).length;
  const timing = new CanaryTiming({ ...options, nodesOf });
  const watched = new Map<string, Watched>();
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();
  const asking = new Map<string, Promise<Asked>>();

  const watch = (nodeId: string): Watched => {
    const known = watched.get(nodeId) ?? { probing: false, unplan: undefined, models: new Map() };
    watched.set(nodeId, known);
    return known;
  };
  const entryOf = (nodeId: string, model: string): Entry => {
    const { models } = watch(nodeId);
    const never = Number.NEGATIVE_INFINITY;
    const entry = models.get(model) ?? {
      freshUntil: never,
      canaries: timing.first(),
      proven: false,
      declined: 0,
      notBefore: never,
    };
    models.set(model, entry);
    return entry;
  };
  const probe = (nodeId: string, model: ActiveModel, canary: "when due" | "always"): Promise<Asked> => {
    const probing = probeOnce(options, nodeId, model, {
      entry: entryOf(nodeId, model.id),
      canary,
      timing,
      stopped: stopping.signal,
    });
    const kept = probing.finally(() => running.delete(kept));
    running.add(kept);
    return kept;
  };
  const dueModel = (node: RosterNode): string | undefined =>
    node.draining || stopping.signal.aborted || watch(node.id).probing
      ? undefined
      : [...node.models].find((model) => isDue(options, timing, node, { model, entry: entryOf(node.id, model) }));
  const look = (node: RosterNode): void => {
    const due = dueModel(node);
    const model = due === undefined ? undefined : options.activeModel(due);
    if (model === undefined) return;
    const known = watch(node.id);
    known.probing = true;
    probe(node.id, model, "when due")
      .catch((error) => log.error({ err: error, node: node.id }, "probe failed with an internal error"))
      .finally(() => {
        known.probing = false;
        // Continues with the next model of the same node, or with the canary that confirms a failure.
        const again = roster.find(node.id);
        if (again === undefined) return;
        look(again);
        const { canaries } = entryOf(node.id, model.id);
        if (Number.isFinite(canaries.confirmAt)) plan(node.id, canaries.confirmAt - clock.monotonic());
      });
  };
  const plan = (nodeId: string, delayMs: number): void => {
    const known = watch(nodeId);
    if (known.probing || stopping.signal.aborted) return;
    known.unplan?.();
    known.unplan = clock.after(Math.max(delayMs, 0), () => {
      known.unplan = undefined;
      const node = roster.find(nodeId);
      if (node === undefined) return;
      look(node);
      // The node had no free slot. While there is evidence against it, the next free moment is not missed.
      if (node.models.values().some((model) => Number.isFinite(entryOf(nodeId, model).canaries.confirmAt)))
        plan(nodeId, CONFIRM_AGAIN_MS);
    });
  };

  dispatcher.onMeasured(({ nodeId, model }) => {
    entryOf(nodeId, model).freshUntil = freshUntil(clock, random);
  });
  roster.onJoin((node) => look(node));
  roster.onGone((nodeId) => {
    // The node reconnected: keeps the evidence and measures its speed again.
    for (const entry of watched.get(nodeId)?.models.values() ?? []) entry.freshUntil = Number.NEGATIVE_INFINITY;
  });
  // Each node gets its probe at a time of its own. Probes at the ticks of a timer would be recognisable by their time.
  const stopTimer = clock.every(LOOK_EVERY_MS, () => {
    for (const node of roster.nodes())
      if (watch(node.id).unplan === undefined && dueModel(node) !== undefined)
        plan(node.id, random.below(LOOK_EVERY_MS));
  });
  return {
    ask(nodeId, modelId) {
      const model = options.activeModel(modelId);
      if (model === undefined || roster.find(nodeId) === undefined || stopping.signal.aborted) {
        return Promise.resolve("absent");
      }
      // Concurrent calls for a node and model share one probe.
      const key = `${nodeId} ${modelId}`;
      const known = asking.get(key);
      if (known !== undefined) return known;
      const asked = probe(nodeId, model, "always").finally(() => asking.delete(key));
      asking.set(key, asked);
      return asked;
    },
    async stop() {
      stopTimer();
      stopping.abort();
      for (const { unplan } of watched.values()) unplan?.();
      await Promise.allSettled(running);
    },
  };
}

const asksCanaries = ({ canaries, activeModel }: ProbesOptions, model: string): boolean =>
  canaries && activeModel(model)?.canaries !== null;

function isDue(
  options: ProbesOptions,
  timing: CanaryTiming,
  node: RosterNode,
  { model, entry }: { model: string; entry: Entry },
): boolean {
  const now = options.clock.monotonic();
  if (now < entry.notBefore || hasNoFreeSlot(node)) return false;
  if (node.outstanding === 0 && now >= entry.freshUntil) return true;
  const confirms = now >= entry.canaries.confirmAt;
  return confirms || (asksCanaries(options, model) && timing.reaches(entry.canaries, model));
}

const freshUntil = (clock: Clock, random: Random): number =>
  clock.monotonic() + FRESH_FOR_MS - FRESH_MORE_OR_LESS_MS + random.below(2 * FRESH_MORE_OR_LESS_MS);

interface Probe {
  entry: Entry;
  canary: "when due" | "always";
  timing: CanaryTiming;
  stopped: AbortSignal;
}

async function probeOnce(
  options: ProbesOptions,
  nodeId: string,
  model: ActiveModel,
  { entry, canary, timing, stopped }: Probe,
): Promise<Asked> {
  const { clock, random, records } = options;
  const now = clock.monotonic();
  const rateOf = (family: string, prior: number) => records.rateOf(nodeId, { model: model.id, family, prior });
  const canaryDue = canary === "always" || timing.reaches(entry.canaries, model.id);
  // The times of the next probe are set before the result of this one is known, so that failures cannot cause a loop.
  entry.freshUntil = freshUntil(clock, random);
  entry.notBefore = now + LOOK_EVERY_MS;
  if (canaryDue) timing.sent(entry.canaries, entry.freshUntil);
  // A node's first canary, and each one that confirms a failure, is never a published one.
  const which = entry.proven && records.of(nodeId, model.id).sum === 0 ? "any" : "unknown";
  const usual = options.shapes.like(model.id);
  // Answers with a format are no evidence at first, so a node that has to prove itself gets none.
  const mayFormat = which === "any" && enforcesFormat(options.roster.find(nodeId), model.id, usual.format);
  const shape = { ...usual, format: mayFormat ? usual.format : null };
  const question =
    canaryDue && options.canaries
      ? options.draw(model, which, { shape, rateOf: (family, prior) => rateOf(family, prior).rate })
      : undefined;
  const { outputTokensMax, ...asks } = question ?? smallTalk(options, model, shape);
  let overtime = false;
  // One controller instead of `AbortSignal.any`: that would register every finished probe with the long-lived stop
  // signal and leak.
  const over = new AbortController();
  const end = (): void => over.abort();
  const stopTimer = clock.after(PROBE_MS_MAX + outputTokensMax * TOKEN_MS_MAX, () => {
    overtime = true;
    end();
  });
  if (stopped.aborted) end();
  else stopped.addEventListener("abort", end);
  const { sampling = samplingOf(model), endpoint, messages, texts, stream, format } = asks;
  const sent = { endpoint, messages, texts, outputTokensMax, stream, sampling, format };
  const job = { id: options.newId(), nodeId, model, ...sent };
  const result = await options.run(job, over.signal).finally(() => {
    stopTimer();
    stopped.removeEventListener("abort", end);
  });
  const asked = stopped.aborted ? "absent" : askedOf(result, model, overtime);
  const rate: RateOfOthers =
    question?.isNew === true
      ? rateOf(question.family, question.passRate)
      : { rate: question?.passRate ?? EASIEST_CANARY_PASS_RATE, isKnown: true };
  judge(options, nodeId, model, { entry, timing, question, rate, result, asked, overtime });
  const unread =
    question?.isNew === true && result !== undefined ? findImpossibleReadingSpeed(model, result) : undefined;
  if (unread !== undefined) options.suspect(nodeId, { reason: "speed", evidence: unread });
  return asked;
}

/** Whether requests with this output format go to the node. */
const enforcesFormat = (node: RosterNode | undefined, model: string, format: FormatType | null): boolean =>
  node?.formats.has(model) === true &&
  (format === "json_object" || SCHEMA_KEYWORDS_USED.every((keyword) => node.keywords.has(keyword)));

/** Temperature 0 gives the most reliable answer. Thinking models need randomness, or they repeat themselves. */
const samplingOf = ({ build }: ActiveModel): UnpaidJob["sampling"] & object => ({
  temperature: build.reasoning === undefined ? 0 : 0.6,
});

function askedOf(result: UnpaidJobResult | undefined, model: ActiveModel, overtime: boolean): Asked {
  if (result === undefined || result.end === "no_capacity") return "absent";
  if (result.end === "cancelled") return overtime ? "failed" : "absent";
  if (result.end !== "finished" && result.end !== "enough") return "failed";
  // An answer of only white space counts as empty.
  const silent = model.kind === "generation" && `${result.text}${result.reasoning}`.trim() === "";
  return silent ? "empty" : "answered";
}

interface Outcome {
  entry: Entry;
  question: CanaryQuestion | undefined;
  timing: CanaryTiming;
  /** The pass rate of honest nodes for this question. */
  rate: RateOfOthers;
  result: UnpaidJobResult | undefined;
  asked: Asked;
  overtime: boolean;
}

/** Judges complete answers only. A transport failure already counts as a failed job. */
function judge(options: ProbesOptions, nodeId: string, model: ActiveModel, outcome: Outcome): void {
  const { entry, timing, question, rate, asked, overtime } = outcome;
  const { records, roster, log } = options;
  const before = records.of(nodeId, model.id).sum;
  const why = wrongOf(outcome, before > 0);
  if (asked === "answered" || asked === "empty" || overtime) entry.notBefore = Number.NEGATIVE_INFINITY;
  const passed = why === undefined;
  if (passed && (question === undefined || asked !== "answered")) {
    // A request took the free slot first. A node that has proven nothing yet gets its canary in the next free moment.
    if (question !== undefined && !entry.proven && hasNoFreeSlot(roster.find(nodeId)))
      [entry.canaries.confirmAt, entry.notBefore] = [options.clock.monotonic(), Number.NEGATIVE_INFINITY];
    return;
  }
  const isTrial = question?.isTrial === true && asked === "answered" && !rate.isKnown;
  const family = question?.family ?? "speed";
  // An empty answer or a timeout is no honest mistake, so it weighs like a wrong answer to the easiest question.
  const weighed = passed || asked === "answered" ? rate.rate : EASIEST_CANARY_PASS_RATE;
  const sampled = question?.isNew === true && asked === "answered" && before === 0 && isTrusted(roster.find(nodeId));
  if (passed) timing.answered(entry.canaries);
  if (!isTrial) [entry.proven, entry.declined] = [passed, 0];
  if (!passed && !isTrial) log.warn({ node: nodeId, model: model.id, why }, "node failed a canary");
  const node = roster.find(nodeId);
  // Requests prefer other nodes between the canaries that confirm the failure.
  if (!passed && !isTrial && node !== undefined) roster.shun(node);
  records.note(nodeId, { model: model.id, family, passed, rate: isTrial ? null : weighed, sampled, why });
  entry.canaries.confirmAt = Number.POSITIVE_INFINITY;
  if (records.of(nodeId, model.id).sum > 0)
    timing.confirms(entry.canaries, { model: model.id, atOnce: !isTrusted(roster.find(nodeId)) });
}

function wrongOf({ entry, question, result, asked, overtime }: Outcome, isSuspected: boolean): string | undefined {
  if (asked === "empty") return "empty answer";
  if (question !== undefined && overtime) return "no answer within the time limit";
  if (asked === "answered") return result === undefined ? undefined : question?.judge(result);
  if (!isSuspected || result?.end !== "no_capacity") return undefined;
  entry.declined += 1;
  return entry.declined < DECLINED_MAX ? undefined : "declined repeated canaries";
}

const hasNoFreeSlot = (node: RosterNode | undefined): boolean =>
  node !== undefined && node.outstanding > 0 && node.outstanding >= node.slots;

const isTrusted = (node: RosterNode | undefined): boolean =>
  node !== undefined && (node.nodeRecord.answersOwed ?? 0) === 0;

/** A question without a fixed answer, to measure speed. */
function smallTalk({ random }: ProbesOptions, model: ActiveModel, shape: RequestShape): Asks {
  if (model.kind === "generation") return { ...createSpeedTestQuestion(random, shape, PROBE_TOKENS), texts: [] };
  return {
    messages: [],
    texts: createSpeedTestQuestion(random, shape, 0).messages.map(({ content }) => content),
    outputTokensMax: 0,
  };
}

type Asks = Pick<
  CanaryQuestion,
  "endpoint" | "messages" | "texts" | "outputTokensMax" | "stream" | "sampling" | "format"
>;
