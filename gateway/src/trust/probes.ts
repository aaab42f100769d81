/**
 * Sends probes: small jobs for nodes when they join and every few minutes afterwards. They measure a node's speed
 * before it has traffic. Some are canaries, which show whether the node runs the model that it claims. Nodes cannot
 * distinguish probes from requests. Probes go to idle nodes; an overdue canary also goes to a node that was never idle
 * since it became due.
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
import { CanaryEvidence, PassRates } from "./canary-evidence.ts";
import type { DrawCanary } from "./canary-source.ts";
import { createSpeedTestQuestion } from "./generated-canaries.ts";
import { randomChoices } from "./questions/random-choices.ts";
import type { RecentRequestShapes, RequestShape } from "./questions/request-shapes.ts";
import type { QuarantineVerdict } from "./reliability.ts";

const LOOK_EVERY_MS = 10_000;
/** How long a speed measurement of a node and model stays valid. Until then no speed probe is needed. */
const FRESH_FOR_MS = 5 * 60_000;
/** The random variation of `FRESH_FOR_MS`, so that nodes cannot predict probes. */
const FRESH_MORE_OR_LESS_MS = 45_000;
/**
 * The mean interval of canaries per node and model. Intervals are random, like those of requests. After a failed canary
 * the next one follows at once.
 */
const CANARY_EVERY_MS = 30 * 60_000;
const CANARY_EVERY_MS_MAX = 4 * CANARY_EVERY_MS;
/** If a node is never idle, it gets a due canary after this delay, as soon as it has a free slot. */
const BUSY_GRACE_MS = 60_000;
/** After a failed canary, this many refusals by a node with free slots count as another failure. */
const DECLINED_MAX = 6;
const PROBE_TOKENS = 24;
/** A probe may take this long for its prompt, plus `TOKEN_MS_MAX` for each token that its answer may have. */
const PROBE_MS_MAX = 60_000;
const TOKEN_MS_MAX = 250;
/**
 * The most prompt tokens that may be cached: the template, the system prompt and an opening that other prompts share.
 */
const CACHED_TOKENS_MAX = 256;
/**
 * The minimum number of new prompt tokens from which a reading speed is judged as too fast to be real. Any machine
 * reads a shorter prompt quickly.
 */
const READ_TOKENS_MIN = 768;

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
  models: Map<string, Entry>;
}

/** The state of one model on one node. Times are monotonic milliseconds. */
interface Entry {
  /** The end of the time in which the measured speed counts as known. */
  freshUntil: number;
  canaryDueAt: number;
  /** Whether the node passed its latest canary. */
  proven: boolean;
  /** The evidence from this node's canary answers. */
  evidence: CanaryEvidence;
  /** The number of consecutive refusals after a failed canary. */
  declined: number;
  /** The earliest time of the next probe, set after a probe without anything to judge. */
  notBefore: number;
}

export function startProbes(options: ProbesOptions): Probes {
  const { roster, dispatcher, clock, log, random } = options;
  const rates = new PassRates();
  const watched = new Map<string, Watched>();
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();
  const asking = new Map<string, Promise<Asked>>();

  const watch = (nodeId: string): Watched => {
    const known = watched.get(nodeId) ?? { probing: false, models: new Map() };
    watched.set(nodeId, known);
    return known;
  };
  const entryOf = (nodeId: string, model: string): Entry => {
    const { models } = watch(nodeId);
    const never = Number.NEGATIVE_INFINITY;
    const entry = models.get(model) ?? {
      freshUntil: never,
      canaryDueAt: clock.monotonic(),
      proven: false,
      evidence: new CanaryEvidence(),
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
      rates,
      stopped: stopping.signal,
    });
    const kept = probing.finally(() => running.delete(kept));
    running.add(kept);
    return kept;
  };
  const look = (node: RosterNode): void => {
    const known = watch(node.id);
    if (known.probing || node.draining || stopping.signal.aborted) return;
    const now = clock.monotonic();
    const due = [...node.models].find((id) => isDue(node, entryOf(node.id, id), now, asksCanaries(options, id)));
    const model = due === undefined ? undefined : options.activeModel(due);
    if (model === undefined) return;
    known.probing = true;
    probe(node.id, model, "when due")
      .catch((error) => log.error({ err: error, node: node.id }, "probe failed with an internal error"))
      .finally(() => {
        known.probing = false;
        // Continues with the next model of the same node if the node is still idle.
        const again = roster.find(node.id);
        if (again !== undefined) look(again);
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
  const stopTimer = clock.every(LOOK_EVERY_MS, () => {
    for (const node of roster.nodes()) look(node);
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
      await Promise.allSettled(running);
    },
  };
}

const asksCanaries = ({ canaries, activeModel }: ProbesOptions, model: string): boolean =>
  canaries && activeModel(model)?.canaries !== null;

function isDue({ outstanding, slots }: RosterNode, entry: Entry, now: number, canaries: boolean): boolean {
  const { freshUntil, canaryDueAt, evidence, notBefore } = entry;
  if (now < notBefore) return false;
  if (outstanding > 0) return canaries && outstanding < slots && now >= canaryDueAt + BUSY_GRACE_MS;
  return now >= freshUntil || evidence.sum > 0 || (canaries && now >= canaryDueAt);
}

const freshUntil = (clock: Clock, random: Random): number =>
  clock.monotonic() + FRESH_FOR_MS - FRESH_MORE_OR_LESS_MS + random.below(2 * FRESH_MORE_OR_LESS_MS);

interface Probe {
  entry: Entry;
  canary: "when due" | "always";
  rates: PassRates;
  stopped: AbortSignal;
}

async function probeOnce(
  options: ProbesOptions,
  nodeId: string,
  model: ActiveModel,
  { entry, canary, rates, stopped }: Probe,
): Promise<Asked> {
  const { clock, random, roster } = options;
  const now = clock.monotonic();
  const host = roster.find(nodeId)?.nodeRecord.hostAccountId ?? "";
  const rateOf = (family: string, prior: number): number => rates.of(`${model.id} ${family}`, { host, prior });
  const canaryDue = canary === "always" || now >= entry.canaryDueAt || entry.evidence.sum > 0;
  // The times of the next probe are set before the result of this one is known, so that failures cannot cause a loop.
  entry.freshUntil = freshUntil(clock, random);
  entry.notBefore = now + LOOK_EVERY_MS;
  if (canaryDue) entry.canaryDueAt = entry.freshUntil;
  // A node's first canary, and each one that confirms a failure, is never a published one.
  const which = entry.proven && entry.evidence.sum === 0 ? "any" : "unknown";
  const shape = options.shapes.like(model.id);
  const question = canaryDue && options.canaries ? options.draw(model, which, { shape, rateOf }) : undefined;
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
  const { messages, texts, stream, sampling = samplingOf(model) } = asks;
  const job = { id: options.newId(), nodeId, model, messages, texts, outputTokensMax, stream, sampling };
  const result = await options.run(job, over.signal).finally(() => {
    stopTimer();
    stopped.removeEventListener("abort", end);
  });
  const asked = stopped.aborted ? "absent" : askedOf(result, model, overtime);
  const rate =
    question?.isNew === true
      ? rateOf(question.family, question.passRate)
      : (question?.passRate ?? EASIEST_CANARY_PASS_RATE);
  if (question?.isNew === true && asked === "answered" && entry.evidence.sum === 0 && isTrusted(roster.find(nodeId)))
    rates.note(`${model.id} ${question.family}`, {
      host,
      passed: result === undefined || question.judge(result) === undefined,
    });
  judge(options, nodeId, model, { entry, question, rate, result, asked, overtime });
  const unread = question?.isNew === true && result !== undefined ? readTooFast(model, result) : undefined;
  if (unread !== undefined) options.suspect(nodeId, { reason: "speed", evidence: unread });
  return asked;
}

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
  /** The pass rate of honest nodes for this question. */
  rate: number;
  result: UnpaidJobResult | undefined;
  asked: Asked;
  overtime: boolean;
}

/** Judges complete answers only. A transport failure already counts as a failed job. */
function judge(options: ProbesOptions, nodeId: string, model: ActiveModel, outcome: Outcome): void {
  const { entry, question, rate, result, asked, overtime } = outcome;
  const { evidence } = entry;
  const wrong = wrongOf(outcome);
  if (asked === "answered" || asked === "empty" || overtime) entry.notBefore = Number.NEGATIVE_INFINITY;
  if (wrong === undefined) {
    if (question === undefined || result === undefined || asked !== "answered") return;
    const waitMs = Math.min(randomChoices(options.random).wait(CANARY_EVERY_MS), CANARY_EVERY_MS_MAX);
    entry.canaryDueAt = options.clock.monotonic() + waitMs;
    [entry.proven, entry.declined] = [true, 0];
    evidence.note(true, rate);
    return;
  }
  entry.proven = false;
  entry.declined = 0;
  // An empty answer or a timeout is no honest mistake, so it weighs like a wrong answer to the easiest question.
  evidence.note(false, asked === "answered" ? rate : EASIEST_CANARY_PASS_RATE);
  const { failures } = evidence;
  options.log.warn({ node: nodeId, model: model.id, why: wrong, failures }, "node failed a canary");
  if (!evidence.isEnough) return;
  const seen = { model: model.id, why: wrong, failures, asked: evidence.asked };
  evidence.clear();
  options.suspect(nodeId, { reason: "canary", evidence: seen });
}

function wrongOf({ entry, question, result, asked, overtime }: Outcome): string | undefined {
  if (asked === "empty") return "empty answer";
  if (question !== undefined && overtime) return "no answer within the time limit";
  if (asked === "answered") return result === undefined ? undefined : question?.judge(result);
  if (entry.evidence.sum === 0 || result?.end !== "no_capacity") return undefined;
  entry.declined += 1;
  return entry.declined < DECLINED_MAX ? undefined : "declined repeated canaries";
}

const isTrusted = (node: RosterNode | undefined): boolean =>
  node !== undefined && (node.nodeRecord.answersOwed ?? 0) === 0;

/**
 * Compares the time to first token with the time that reading the prompt takes. The prompts are new, so that no node
 * can have cached them; tokens that they share with other prompts are not counted. The time is measured from the offer,
 * so that delays cannot make an honest node look fast.
 */
function readTooFast(
  model: ActiveModel,
  { end, promptTokens, ttftMs }: UnpaidJobResult,
): QuarantineVerdict["evidence"] | undefined {
  const tokens = promptTokens - CACHED_TOKENS_MAX;
  if (ttftMs === null || (end !== "finished" && end !== "enough") || tokens < READ_TOKENS_MIN) return undefined;
  const tokensPerSecond = Math.round((tokens * 1000) / Math.max(ttftMs, 1));
  if (tokensPerSecond <= model.readingSpeedMax) return undefined;
  const ceiling = model.readingSpeedMax;
  return {
    model: model.id,
    prompt_tokens: tokens,
    first_token_ms: ttftMs,
    prompt_tokens_per_second: tokensPerSecond,
    ceiling,
  };
}

/** A question without a fixed answer, to measure speed. */
function smallTalk({ random }: ProbesOptions, model: ActiveModel, shape: RequestShape): Asks {
  if (model.kind === "generation") return { ...createSpeedTestQuestion(random, shape, PROBE_TOKENS), texts: [] };
  return {
    messages: [],
    texts: createSpeedTestQuestion(random, shape, 0).messages.map(({ content }) => content),
    outputTokensMax: 0,
  };
}

type Asks = Pick<CanaryQuestion, "messages" | "texts" | "outputTokensMax" | "stream" | "sampling">;
