/**
 * Small jobs on idle nodes, when a node joins and every few minutes afterwards: they give a baseline of speed before any
 * traffic does, and canaries among them tell whether the node runs what it claims. To the node they look like requests.
 */
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Roster, RosterNode } from "../dispatch/roster.ts";
import type { PrivateJob, PrivateResult } from "../inference/private-job.ts";
import type { ActiveModel, Canary } from "../metering/catalogue.ts";
import { canaryTexts, judgeCanary } from "./canary.ts";
import type { Verdict } from "./reliability.ts";

const LOOK_EVERY_MS = 10_000;
/** A model whose speed on a node was seen this lately needs no probe. */
const FRESH_FOR_MS = 5 * 60_000;
/** A canary is asked this often per node and model; one that failed is asked again at the next look. */
const CANARY_EVERY_MS = 30 * 60_000;
const CANARY_FAILURES_MAX = 2;
const PROBE_TOKENS = 24;
const PROBE_MS_MAX = 60_000;
const WORDS = ["river", "market", "copper", "window", "harbour", "meadow", "engine", "letter", "winter", "bridge"];

export interface ProbesOptions {
  roster: Roster;
  dispatcher: Pick<Dispatcher, "onMeasured">;
  run: (job: PrivateJob, signal: AbortSignal) => Promise<PrivateResult | undefined>;
  activeModel: (id: string) => ActiveModel | undefined;
  /** Whether canaries are asked, too. */
  canaries: boolean;
  suspect: (nodeId: string, verdict: Verdict) => void;
  newId: () => Uuid;
  clock: Clock;
  random: Random;
  log: Log;
}

interface Watched {
  probing: boolean;
  models: Map<string, { measuredAt: number; canaryAt: number; canaryFailures: number }>;
}

export function keepProbing(options: ProbesOptions): { stop(): Promise<void> } {
  const { roster, dispatcher, clock, log } = options;
  const watched = new Map<string, Watched>();
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();

  const watch = (nodeId: string): Watched => {
    const known = watched.get(nodeId) ?? { probing: false, models: new Map() };
    watched.set(nodeId, known);
    return known;
  };
  const look = (node: RosterNode): void => {
    const known = watch(node.id);
    if (known.probing || node.draining || node.outstanding > 0 || stopping.signal.aborted) return;
    const due = dueModel(node, known, clock.monotonic());
    const model = due === undefined ? undefined : options.activeModel(due);
    if (model === undefined) return;
    known.probing = true;
    const probing = probe(options, node.id, model, known, stopping.signal)
      .catch((error) => log.error({ err: error, node: node.id }, "a probe failed on our side"))
      .finally(() => {
        known.probing = false;
        running.delete(probing);
        // The next model of the same node, if it is still idle.
        const again = roster.find(node.id);
        if (again !== undefined) look(again);
      });
    running.add(probing);
  };

  dispatcher.onMeasured(({ nodeId, model }) => {
    const entry = entryOf(watch(nodeId), model);
    entry.measuredAt = clock.monotonic();
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
    async stop() {
      stopTimer();
      stopping.abort();
      await Promise.all(running);
    },
  };
}

function entryOf({ models }: Watched, model: string) {
  const never = Number.NEGATIVE_INFINITY;
  const entry = models.get(model) ?? { measuredAt: never, canaryAt: never, canaryFailures: 0 };
  models.set(model, entry);
  return entry;
}

function dueModel(node: RosterNode, known: Watched, now: number): string | undefined {
  return [...node.models].find((model) => {
    const { measuredAt, canaryFailures } = entryOf(known, model);
    return now - measuredAt >= FRESH_FOR_MS || canaryFailures > 0;
  });
}

async function probe(
  options: ProbesOptions,
  nodeId: string,
  model: ActiveModel,
  known: Watched,
  stopped: AbortSignal,
): Promise<void> {
  const { clock, random, log } = options;
  const entry = entryOf(known, model.id);
  const now = clock.monotonic();
  // Whatever comes of it, this one is done: a node that fails is not asked in a loop.
  entry.measuredAt = now;
  const canaryDue = options.canaries && model.canaries.length > 0 && now - entry.canaryAt >= CANARY_EVERY_MS;
  const canary =
    canaryDue || entry.canaryFailures > 0 ? model.canaries[random.below(model.canaries.length)] : undefined;
  const deadline = new AbortController();
  const stopTimer = clock.after(PROBE_MS_MAX, () => deadline.abort());
  const signal = AbortSignal.any([stopped, deadline.signal]);
  const result = await options.run(jobOf(options, nodeId, model, canary), signal).finally(stopTimer);
  if (result === undefined || canary === undefined) return;
  // Only a whole answer can be wrong; what failed on the way counts as a failed job.
  if (result.end !== "finished" && result.end !== "enough") return;
  entry.canaryAt = now;
  const wrong = judgeCanary(canary, result);
  entry.canaryFailures = wrong === undefined ? 0 : entry.canaryFailures + 1;
  if (wrong === undefined) return;
  log.warn({ node: nodeId, model: model.id, why: wrong, failures: entry.canaryFailures }, "a node failed a canary");
  if (entry.canaryFailures < CANARY_FAILURES_MAX) return;
  entry.canaryFailures = 0;
  options.suspect(nodeId, {
    reason: "canary",
    evidence: { model: model.id, why: wrong, failures: CANARY_FAILURES_MAX },
  });
}

export function jobOf(
  { newId, random }: Pick<ProbesOptions, "newId" | "random">,
  nodeId: string,
  model: ActiveModel,
  canary?: Canary,
): PrivateJob {
  const id = newId();
  if (canary !== undefined) {
    const outputTokensMax = "near" in canary ? 0 : canary.max_tokens;
    return { id, nodeId, model, texts: canaryTexts(canary), outputTokensMax };
  }
  const word = (): string => WORDS[random.below(WORDS.length)] as string;
  const texts = [`Write two sentences about a ${word()} and a ${word()}.`];
  return { id, nodeId, model, texts, outputTokensMax: model.kind === "embedding" ? 0 : PROBE_TOKENS };
}
