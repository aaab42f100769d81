/**
 * Sends probes: small jobs for nodes when they join and every few minutes afterwards. They measure a node's speed
 * before it has traffic. Some are canaries, which show whether the node runs the model that it claims. Nodes cannot
 * distinguish probes from requests. Measurements of speed go to idle nodes, canaries to nodes with a free slot: a node
 * that gets canaries only while it is idle could cheat in all requests that it gets while it is busy.
 */
import type { RosterNode } from "../dispatch/roster-node.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import { CanaryTiming } from "./canary-times.ts";
import {
  computeFreshUntil,
  hasNoFreeSlot,
  LOOK_EVERY_MS,
  type NodeModelState,
  type ProbeResult,
  type ProbesOptions,
  probeOnce,
} from "./probe-run.ts";

/** How often a node that has no free slot is tried again while a canary is due to confirm a failure. */
const CONFIRM_AGAIN_MS = 250;

export interface Probes {
  /** Probes this node now, whether it is busy or idle. A wrong answer counts as in any other probe. */
  ask(nodeId: string, model: string): Promise<ProbeResult>;
  stop(): Promise<void>;
}

interface Watched {
  probing: boolean;
  /** Cancels the next look at the node, if one is planned. */
  unplan: (() => void) | undefined;
  models: Map<string, NodeModelState>;
}

export function startProbes(options: ProbesOptions): Probes {
  const { roster, dispatcher, clock, log, random } = options;
  const nodesOf = (model: string): number => roster.nodes().filter(({ models }) => models.has(model)).length;
  const timing = new CanaryTiming({ ...options, nodesOf });
  const watched = new Map<string, Watched>();
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();
  const asking = new Map<string, Promise<ProbeResult>>();

  const watch = (nodeId: string): Watched => {
    const known = watched.get(nodeId) ?? { probing: false, unplan: undefined, models: new Map() };
    watched.set(nodeId, known);
    return known;
  };
  const entryOf = (nodeId: string, model: string): NodeModelState => {
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
  const probe = (nodeId: string, model: ActiveModel, canary: "when due" | "always"): Promise<ProbeResult> => {
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
    entryOf(nodeId, model).freshUntil = computeFreshUntil(clock, random);
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
  { model, entry }: { model: string; entry: NodeModelState },
): boolean {
  const now = options.clock.monotonic();
  if (now < entry.notBefore || hasNoFreeSlot(node)) return false;
  if (node.outstanding === 0 && now >= entry.freshUntil) return true;
  const confirms = now >= entry.canaries.confirmAt;
  return confirms || (asksCanaries(options, model) && timing.reaches(entry.canaries, model));
}
