/**
 * The evidence from canaries (requests with known answers) and the pass rates of honest nodes, over all gateways.
 * Gateways report every result to each other, so a node is found as early behind several gateways as behind one.
 */
import { z } from "zod";
import type { PeerGateways } from "../dispatch/exchange/peer-gateways.ts";
import { CanaryEvidence, PassRates } from "./canary-evidence.ts";

/** One answer to a canary, judged. */
const CanaryResult = z.object({
  model: z.string(),
  family: z.string(),
  passed: z.boolean(),
  /** The pass rate of honest nodes with which the answer was compared. Null: the answer is no evidence. */
  rate: z.number().gt(0).lt(1).nullable(),
  /** Whether the answer counts for the family's pass rate. */
  sampled: z.boolean(),
  /** Why the answer is wrong. Never quotes it. */
  why: z.string().max(100).optional(),
});
type CanaryResult = z.infer<typeof CanaryResult>;
/** The evidence against a node so far, for a gateway that starts later. */
const HeldEvidence = z.object({
  model: z.string(),
  sum: z.number().min(0),
  failures: z.int().min(0),
  asked: z.int().min(0),
});
const CanaryItem = z.union([CanaryResult, HeldEvidence]);
type CanaryItem = z.infer<typeof CanaryItem>;

const ITEMS_MAX = 64;

interface CanaryVerdict extends Record<string, unknown> {
  model: string;
  why: string | undefined;
  failures: number;
  asked: number;
}

interface RecordsOptions {
  /** The other gateways. Undefined: this is the only one. */
  peers: Pick<PeerGateways, "exchange"> | undefined;
  /** The account of the node's host. Undefined if the node is not connected. */
  hostOf: (nodeId: string) => string | undefined;
  /** Called when the evidence against a node is enough, with what speaks against it. */
  judged: (nodeId: string, evidence: CanaryVerdict) => void;
}

export interface CanaryRecords {
  of(nodeId: string, model: string): Readonly<CanaryEvidence>;
  /** The pass rate of other hosts' nodes for the family. `isKnown`: whether enough of them were asked. */
  rateOf(nodeId: string, question: { model: string; family: string; prior: number }): RateOfOthers;
  note(nodeId: string, result: CanaryResult): void;
}

export interface RateOfOthers {
  rate: number;
  isKnown: boolean;
}

export function openCanaryRecords({ peers, hostOf, judged }: RecordsOptions): CanaryRecords {
  const rates = new PassRates();
  const nodes = new Map<string, Map<string, CanaryEvidence>>();
  const evidenceOf = (nodeId: string, model: string): CanaryEvidence => {
    const models = nodes.get(nodeId) ?? new Map<string, CanaryEvidence>();
    nodes.set(nodeId, models);
    const evidence = models.get(model) ?? new CanaryEvidence();
    models.set(model, evidence);
    return evidence;
  };
  const add = (nodeId: string, { model, family, passed, rate, sampled, why }: CanaryResult): void => {
    const host = hostOf(nodeId);
    if (sampled && host !== undefined) rates.note(`${model} ${family}`, { host, passed });
    if (rate === null) return;
    const evidence = evidenceOf(nodeId, model);
    evidence.note(passed, rate);
    if (!evidence.isEnough) return;
    const { failures, asked } = evidence;
    evidence.clear();
    judged(nodeId, { model, why, failures, asked });
  };
  const hear = (nodeId: string, items: CanaryItem[]): void => {
    for (const item of items) {
      if ("family" in item) add(nodeId, item);
      else evidenceOf(nodeId, item.model).adopt(item);
    }
  };
  const held = (nodeId: string): CanaryItem[] =>
    [...(nodes.get(nodeId) ?? [])].flatMap(([model, { sum, failures, asked }]) =>
      sum > 0 ? [{ model, sum, failures, asked }] : [],
    );
  const tell = peers?.exchange({
    name: "canaries",
    itemsMax: ITEMS_MAX,
    parse: (told) => CanaryItem.safeParse(told).data,
    hear,
    held,
  });
  return {
    of: evidenceOf,
    rateOf: (nodeId, { model, family, prior }) => rates.of(`${model} ${family}`, { host: hostOf(nodeId) ?? "", prior }),
    note(nodeId, result) {
      tell?.(nodeId, result);
      add(nodeId, result);
    },
  };
}
