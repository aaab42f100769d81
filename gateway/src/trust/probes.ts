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
import type { Question } from "./canary.ts";
import type { Verdict } from "./reliability.ts";

const LOOK_EVERY_MS = 10_000;
/** A model whose speed on a node was seen this lately needs no probe. */
const FRESH_FOR_MS = 5 * 60_000;
/** A canary is asked this often per node and model; one that failed is asked again at once. */
const CANARY_EVERY_MS = 30 * 60_000;
/** A node that is never idle is asked all the same, this long after a canary fell due, if it has a slot free. */
const BUSY_GRACE_MS = 60_000;
const CANARY_FAILURES_MAX = 2;
/** After a failed canary: a node that says it is free and declines to be asked again so often has failed again. */
const DECLINED_MAX = 6;
const PROBE_TOKENS = 24;
/** How long a probe may take: for its prompt, and for each token of its answer. */
const PROBE_MS_MAX = 60_000;
const TOKEN_MS_MAX = 250;
const WORDS = ["river", "market", "copper", "window", "harbour", "meadow", "engine", "letter", "winter", "bridge"];

interface ProbesOptions {
  roster: Roster;
  dispatcher: Pick<Dispatcher, "onMeasured">;
  run: (job: PrivateJob, signal: AbortSignal) => Promise<PrivateResult | undefined>;
  activeModel: (id: string) => ActiveModel | undefined;
  /** Whether canaries are asked, too. */
  canaries: boolean;
  draw: DrawCanary;
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
  measuredAt: number;
  canaryDueAt: number;
  /** The last canary was answered right. */
  proven: boolean;
  canaryFailures: number;
  /** Times in a row that it declined to be asked again after a failed canary. */
  declined: number;
  /** Not asked again before: the last time brought nothing to judge. */
  notBefore: number;
}

export function keepProbing(options: ProbesOptions): Probes {
  const { roster, dispatcher, clock, log } = options;
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
      measuredAt: never,
      canaryDueAt: clock.monotonic(),
      proven: false,
      canaryFailures: 0,
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
    entryOf(nodeId, model).measuredAt = clock.monotonic();
  });
  roster.onJoin((node) => look(node));
  roster.onGone((nodeId) => {
    // What it is known to have failed it still has failed; its speed is measured anew.
    for (const entry of watched.get(nodeId)?.models.values() ?? []) entry.measuredAt = Number.NEGATIVE_INFINITY;
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
  const { measuredAt, canaryDueAt, canaryFailures, notBefore } = entry;
  if (now < notBefore) return false;
  if (outstanding > 0) return canaries && outstanding < slots && now >= canaryDueAt + BUSY_GRACE_MS;
  return now - measuredAt >= FRESH_FOR_MS || canaryFailures > 0 || (canaries && now >= canaryDueAt);
}

interface Probe {
  entry: Entry;
  canary: "when due" | "always";
  stopped: AbortSignal;
}

async function probeOnce(
  options: ProbesOptions,
  nodeId: string,
  model: ActiveModel,
  { entry, canary, stopped }: Probe,
): Promise<Asked> {
  const { clock } = options;
  const now = clock.monotonic();
  // Whatever comes of it, this one is done: a node that fails, and a mistake of our own, is not asked in a loop.
  const canaryDue = canary === "always" || now >= entry.canaryDueAt || entry.canaryFailures > 0;
  entry.measuredAt = now;
  entry.notBefore = now + LOOK_EVERY_MS;
  if (canaryDue) entry.canaryDueAt = now + FRESH_FOR_MS;
  // The first canary of a node, and the one that confirms a failure, are none that could have been looked up.
  const question = canaryDue && options.canaries ? options.draw(model, entry.proven ? "any" : "unknown") : undefined;
  const { texts, outputTokensMax } = question ?? chatter(options, model);
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
  const job = { id: options.newId(), nodeId, model, texts, outputTokensMax, sampling: samplingOf(model) };
  const result = await options.run(job, over.signal).finally(() => {
    stopTimer();
    stopped.removeEventListener("abort", end);
  });
  const asked = stopped.aborted ? "absent" : askedOf(result, model, overtime);
  judge(options, nodeId, model, { entry, question, result, asked, overtime });
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
  result: PrivateResult | undefined;
  asked: Asked;
  overtime: boolean;
}

/** Only a whole answer can be wrong; what failed on the way counts as a failed job already. */
function judge(options: ProbesOptions, nodeId: string, model: ActiveModel, outcome: Outcome): void {
  const { entry, question, result, asked, overtime } = outcome;
  const wrong = wrongOf(outcome);
  if (asked === "answered" || asked === "empty" || overtime) entry.notBefore = Number.NEGATIVE_INFINITY;
  if (wrong === undefined) {
    if (question === undefined || result === undefined || asked !== "answered") return;
    entry.canaryDueAt = options.clock.monotonic() + CANARY_EVERY_MS;
    [entry.proven, entry.canaryFailures, entry.declined] = [true, 0, 0];
    return;
  }
  entry.proven = false;
  entry.canaryFailures += 1;
  entry.declined = 0;
  const { canaryFailures: failures } = entry;
  options.log.warn({ node: nodeId, model: model.id, why: wrong, failures }, "node failed a canary");
  if (failures < CANARY_FAILURES_MAX) return;
  entry.canaryFailures = 0;
  options.suspect(nodeId, { reason: "canary", evidence: { model: model.id, why: wrong, failures } });
}

function wrongOf({ entry, question, result, asked, overtime }: Outcome): string | undefined {
  if (asked === "empty") return "empty answer";
  if (question !== undefined && overtime) return "no answer in time";
  if (asked === "answered") return result === undefined ? undefined : question?.judge(result);
  if (entry.canaryFailures === 0 || result?.end !== "no_capacity") return undefined;
  entry.declined += 1;
  return entry.declined < DECLINED_MAX ? undefined : "declined repeated canaries";
}

/** A question that any answer will do for. */
function chatter({ random }: ProbesOptions, model: ActiveModel): Pick<Question, "texts" | "outputTokensMax"> {
  const word = (): string => WORDS[random.below(WORDS.length)] as string;
  const texts = [`Write two sentences about a ${word()} and a ${word()}.`];
  return { texts, outputTokensMax: model.kind === "embedding" ? 0 : PROBE_TOKENS };
}
