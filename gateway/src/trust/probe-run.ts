/** One probe: chooses its question, sends it to the node, and judges the answer. */
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
import type { CanaryTimes, CanaryTiming } from "./canary-times.ts";
import { createSpeedTestQuestion } from "./generated-canaries.ts";
import { type FormatType, SCHEMA_KEYWORDS_USED } from "./questions/json-answers.ts";
import type { RecentRequestShapes, RequestShape } from "./questions/request-shapes.ts";
import { findImpossibleReadingSpeed } from "./reading-speed.ts";
import type { QuarantineVerdict } from "./reliability.ts";
import type { TrafficRates } from "./traffic-rates.ts";

/** How often it is decided which nodes get a probe. A probe is sent at a random time of the period that follows. */
export const LOOK_EVERY_MS = 10_000;
/** How long a speed measurement of a node and model stays valid. Until then no speed probe is needed. */
const FRESH_FOR_MS = 5 * 60_000;
/** The random variation of `FRESH_FOR_MS`, so that nodes cannot predict probes. */
const FRESH_MORE_OR_LESS_MS = 45_000;
/** After a failed canary, this many refusals by a node with free slots count as another failure. */
const DECLINED_MAX = 6;
const PROBE_TOKENS = 24;
/** A probe may take this long for its prompt, plus `TOKEN_MS_MAX` for each token that its answer may have. */
const PROBE_MS_MAX = 60_000;
const TOKEN_MS_MAX = 250;

export interface ProbesOptions {
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
export type ProbeResult = "answered" | "empty" | "failed" | "absent";

/** The state of one model on one node. Times are monotonic milliseconds. */
export interface NodeModelState {
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

export const computeFreshUntil = (clock: Clock, random: Random): number =>
  clock.monotonic() + FRESH_FOR_MS - FRESH_MORE_OR_LESS_MS + random.below(2 * FRESH_MORE_OR_LESS_MS);

interface Probe {
  entry: NodeModelState;
  canary: "when due" | "always";
  timing: CanaryTiming;
  stopped: AbortSignal;
}

export async function probeOnce(
  options: ProbesOptions,
  nodeId: string,
  model: ActiveModel,
  { entry, canary, timing, stopped }: Probe,
): Promise<ProbeResult> {
  const { clock, random, records } = options;
  const now = clock.monotonic();
  const rateOf = (family: string, prior: number) => records.rateOf(nodeId, { model: model.id, family, prior });
  const canaryDue = canary === "always" || timing.reaches(entry.canaries, model.id);
  // The times of the next probe are set before the result of this one is known, so that failures cannot cause a loop.
  entry.freshUntil = computeFreshUntil(clock, random);
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

function askedOf(result: UnpaidJobResult | undefined, model: ActiveModel, overtime: boolean): ProbeResult {
  if (result === undefined || result.end === "no_capacity") return "absent";
  if (result.end === "cancelled") return overtime ? "failed" : "absent";
  if (result.end !== "finished" && result.end !== "enough") return "failed";
  // An answer of only white space counts as empty.
  const silent = model.kind === "generation" && `${result.text}${result.reasoning}`.trim() === "";
  return silent ? "empty" : "answered";
}

interface Outcome {
  entry: NodeModelState;
  question: CanaryQuestion | undefined;
  timing: CanaryTiming;
  /** The pass rate of honest nodes for this question. */
  rate: RateOfOthers;
  result: UnpaidJobResult | undefined;
  asked: ProbeResult;
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

export const hasNoFreeSlot = (node: RosterNode | undefined): boolean =>
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
