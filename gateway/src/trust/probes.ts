/**
 * Small jobs on nodes, when a node joins and every few minutes afterwards: they give a baseline of speed before any traffic
 * does, and canaries among them tell whether the node runs what it claims. To the node they look like requests. They go to
 * idle nodes; a canary that is overdue also goes to one that has never been idle since.
 */
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Roster } from "../dispatch/roster.ts";
import type { RosterNode } from "../dispatch/roster-node.ts";
import type { PrivateJob, PrivateResult } from "../inference/private-job.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import type { DrawCanary } from "./canaries.ts";
import { ALWAYS, type Question } from "./canary.ts";
import { Evidence, PassRates } from "./evidence.ts";
import { chatter } from "./made-up.ts";
import { drawing } from "./questions/draw.ts";
import type { Shape, Shapes } from "./questions/shapes.ts";
import type { Verdict } from "./reliability.ts";

const LOOK_EVERY_MS = 10_000;
/** A model whose speed on a node was seen this lately needs no probe. */
const FRESH_FOR_MS = 5 * 60_000;
/** Every probe waits a little longer or shorter, so that none comes when it is expected. */
const FRESH_MORE_OR_LESS_MS = 45_000;
/** On average a canary is asked this often per node and model, at times as random as requests; after a failure the next comes at once. */
const CANARY_EVERY_MS = 30 * 60_000;
const CANARY_EVERY_MS_MAX = 4 * CANARY_EVERY_MS;
/** A node that is never idle is asked all the same, this long after a canary fell due, if it has a slot free. */
const BUSY_GRACE_MS = 60_000;
/** After a failed canary: a node that says it is free and declines to be asked again so often has failed again. */
const DECLINED_MAX = 6;
const PROBE_TOKENS = 24;
/** How long a probe may take: for its prompt, and for each token of its answer. */
const PROBE_MS_MAX = 60_000;
const TOKEN_MS_MAX = 250;
/** Of a prompt's tokens so many may be cached: the template, a system prompt and an opening that others have, too. */
const CACHED_TOKENS_MAX = 256;
/** Fewer new tokens prove nothing: any machine reads them in a moment. */
const READ_TOKENS_MIN = 768;

interface ProbesOptions {
  roster: Roster;
  dispatcher: Pick<Dispatcher, "onMeasured">;
  run: (job: PrivateJob, signal: AbortSignal) => Promise<PrivateResult | undefined>;
  activeModel: (id: string) => ActiveModel | undefined;
  /** Whether canaries are asked, too. */
  canaries: boolean;
  draw: DrawCanary;
  /** What requests look like now. */
  shapes: Pick<Shapes, "like">;
  suspect: (nodeId: string, verdict: Verdict) => void;
  newId: () => Uuid;
  clock: Clock;
  random: Random;
  log: Log;
}

/** What came of asking a node: `absent` when it could not be asked (not connected, or it declined). */
type Asked = "answered" | "empty" | "failed" | "absent";

export interface Probes {
  /** Asks this node now, as a probe, busy or not. What is wrong with its answer counts as with any probe. */
  ask(nodeId: string, model: string): Promise<Asked>;
  stop(): Promise<void>;
}

interface Watched {
  probing: boolean;
  models: Map<string, Entry>;
}

/** What is known of one model on one node. Moments are the clock's monotonic milliseconds. */
interface Entry {
  /** Until then its speed is known. */
  freshUntil: number;
  canaryDueAt: number;
  /** The last canary was answered right. */
  proven: boolean;
  /** What its answers prove against the node. */
  evidence: Evidence;
  /** Times in a row that it declined to be asked again after a failed canary. */
  declined: number;
  /** Not asked again before: the last time brought nothing to judge. */
  notBefore: number;
}

export function keepProbing(options: ProbesOptions): Probes {
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
      evidence: new Evidence(),
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
        // The next model of the same node, if it is still idle.
        const again = roster.find(node.id);
        if (again !== undefined) look(again);
      });
  };

  dispatcher.onMeasured(({ nodeId, model }) => {
    entryOf(nodeId, model).freshUntil = freshUntil(clock, random);
  });
  roster.onJoin((node) => look(node));
  roster.onGone((nodeId) => {
    // What it is known to have failed it still has failed; its speed is measured anew.
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
      // Whoever asks at the same time gets the same answer.
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
  // Whatever comes of it, this one is done: a node that fails, and a mistake of our own, is not asked in a loop.
  const canaryDue = canary === "always" || now >= entry.canaryDueAt || entry.evidence.sum > 0;
  entry.freshUntil = freshUntil(clock, random);
  entry.notBefore = now + LOOK_EVERY_MS;
  if (canaryDue) entry.canaryDueAt = entry.freshUntil;
  // The first canary of a node, and those that confirm a failure, are none that could have been looked up.
  const which = entry.proven && entry.evidence.sum === 0 ? "any" : "unknown";
  const shape = options.shapes.like(model.id);
  const question = canaryDue && options.canaries ? options.draw(model, which, { shape, rateOf }) : undefined;
  const { outputTokensMax, ...asks } = question ?? smallTalk(options, model, shape);
  let overtime = false;
  // One controller, and not `AbortSignal.any`: what ends all probes lives as long as the gateway, and would gather those that are over.
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
  const rate = question?.isNew === true ? rateOf(question.family, question.passRate) : (question?.passRate ?? ALWAYS);
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

/** The likeliest answer of a model is the one to judge it by; one that thinks goes round in circles without chance. */
const samplingOf = ({ build }: ActiveModel): PrivateJob["sampling"] & object => ({
  temperature: build.reasoning === undefined ? 0 : 0.6,
});

function askedOf(result: PrivateResult | undefined, model: ActiveModel, overtime: boolean): Asked {
  if (result === undefined || result.end === "no_capacity") return "absent";
  if (result.end === "cancelled") return overtime ? "failed" : "absent";
  if (result.end !== "finished" && result.end !== "enough") return "failed";
  // White space alone is no answer to any of our questions.
  const silent = model.kind === "generation" && `${result.text}${result.reasoning}`.trim() === "";
  return silent ? "empty" : "answered";
}

interface Outcome {
  entry: Entry;
  question: Question | undefined;
  /** How often honest nodes pass it. */
  rate: number;
  result: PrivateResult | undefined;
  asked: Asked;
  overtime: boolean;
}

/** Only a whole answer can be wrong; what failed on the way counts as a failed job already. */
function judge(options: ProbesOptions, nodeId: string, model: ActiveModel, outcome: Outcome): void {
  const { entry, question, rate, result, asked, overtime } = outcome;
  const { evidence } = entry;
  const wrong = wrongOf(outcome);
  if (asked === "answered" || asked === "empty" || overtime) entry.notBefore = Number.NEGATIVE_INFINITY;
  if (wrong === undefined) {
    if (question === undefined || result === undefined || asked !== "answered") return;
    const waitMs = Math.min(drawing(options.random).wait(CANARY_EVERY_MS), CANARY_EVERY_MS_MAX);
    entry.canaryDueAt = options.clock.monotonic() + waitMs;
    [entry.proven, entry.declined] = [true, 0];
    evidence.note(true, rate);
    return;
  }
  entry.proven = false;
  entry.declined = 0;
  // Every model has something to say, and in time: only what it says may be a mistake.
  evidence.note(false, asked === "answered" ? rate : ALWAYS);
  const { failures } = evidence;
  options.log.warn({ node: nodeId, model: model.id, why: wrong, failures }, "node failed a canary");
  if (!evidence.isEnough) return;
  const seen = { model: model.id, why: wrong, failures, asked: evidence.asked };
  evidence.clear();
  options.suspect(nodeId, { reason: "canary", evidence: seen });
}

function wrongOf({ entry, question, result, asked, overtime }: Outcome): string | undefined {
  if (asked === "empty") return "empty answer";
  if (question !== undefined && overtime) return "no answer in time";
  if (asked === "answered") return result === undefined ? undefined : question?.judge(result);
  if (entry.evidence.sum === 0 || result?.end !== "no_capacity") return undefined;
  entry.declined += 1;
  return entry.declined < DECLINED_MAX ? undefined : "declined repeated canaries";
}

const isTrusted = (node: RosterNode | undefined): boolean =>
  node !== undefined && (node.nodeRecord.answersOwed ?? 0) === 0;

/**
 * The first token of an answer comes after the whole prompt was read. What a node has read before it need not read again, so this
 * is asked only of prompts that no one can have read, less what even these share with others. Measured from the offer: no delay
 * on the way can make an honest node look fast.
 */
function readTooFast(
  model: ActiveModel,
  { end, promptTokens, ttftMs }: PrivateResult,
): Verdict["evidence"] | undefined {
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

/** A question that any answer will do for. */
function smallTalk({ random }: ProbesOptions, model: ActiveModel, shape: Shape): Asks {
  if (model.kind === "generation") return { ...chatter(random, shape, PROBE_TOKENS), texts: [] };
  return { messages: [], texts: chatter(random, shape, 0).messages.map(({ content }) => content), outputTokensMax: 0 };
}

type Asks = Pick<Question, "messages" | "texts" | "outputTokensMax" | "stream" | "sampling">;
