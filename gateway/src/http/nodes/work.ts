/** What a host sees of its nodes' work: the models on offer, how a node does, what every request earned, a test of its own. */
import { z } from "zod";
import { type NewId, parseId, publicId, type Uuid } from "../../base/ids.ts";
import { exactMicro, pico } from "../../base/money.ts";
import type { MedianSpeed } from "../../dispatch/speeds.ts";
import { fault, invalidRequest } from "../../faults.ts";
import type { ListedNode, Node } from "../../fleet/fleet.ts";
import type { EarningLine, Earnings } from "../../history/earnings.ts";
import type { PrivateJob, PrivateResult } from "../../inference/private-job.ts";
import type { HostMoney } from "../../ledger/host-money.ts";
import type { ActiveModel, Catalogue } from "../../metering/catalogue.ts";
import type { Standing } from "../../trust/trust.ts";
import type { OpenCall } from "../door.ts";
import { parseFields } from "../fields.ts";
import type { Cursors } from "../lists/cursors.ts";
import { PageFields, page, SpanFields } from "../lists/pages.ts";

export interface NodeWork {
  catalogue: () => Catalogue;
  /** The node as it reports itself; undefined when it is not connected. */
  live: (nodeId: string) => { slots: number; outstanding: number; draining: boolean } | undefined;
  speedOf: (nodeId: string, model: string) => MedianSpeed;
  reliability: (nodeId: string) => Standing;
  earnings: Earnings;
  money: (hostAccountId: Uuid) => Promise<HostMoney>;
  runPrivately: (job: PrivateJob, signal: AbortSignal) => Promise<PrivateResult | undefined>;
  cursors: Cursors;
  newId: NewId;
  /** Unix milliseconds. */
  now: () => number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const TRY_TOKENS_MAX = 512;

export function modelsForHosts({ entries, active }: Catalogue): object {
  const data = entries.flatMap((entry) => {
    const build = active.get(entry.id)?.build;
    if (build === undefined) return [];
    const { id: model, kind, class: of, context_limit, price_in_micro_1m, price_out_micro_1m } = entry;
    const prices = { price_in_micro_1m, price_out_micro_1m };
    return [{ model, kind, class: of, context_limit, build: build.id, tokenizer: build.tokenizer, ...prices }];
  });
  return { object: "list", data, next_cursor: null };
}

export async function nodeStats(work: NodeWork, node: Node, shown: { state: string }): Promise<object> {
  const id = publicId("node", node.id);
  const live = work.live(id);
  const { jobs, failures, jobsWindow, failuresMax } = work.reliability(id);
  const today = await work.earnings.sum(node.accountId, { nodeId: node.id, from: startOfDay(work.now()) });
  return {
    object: "node_stats",
    node: id,
    state: shown.state,
    connected: live !== undefined,
    slots: live?.slots ?? 0,
    busy: live?.outstanding ?? 0,
    draining: live?.draining ?? false,
    models: node.models.map((model) => {
      const { ttftMs, tokensPerSecond } = work.speedOf(id, model);
      return { model, ttft_p50_ms: rounded(ttftMs), tps_p50: rounded(tokensPerSecond) };
    }),
    today: {
      requests: today.requests,
      prompt_tokens: today.promptTokens,
      completion_tokens: today.completionTokens,
      earned_micro: exactMicro(today.earned),
    },
    reliability: { jobs, failures, jobs_window: jobsWindow, failures_max: failuresMax },
    quarantine: quarantineObject(node),
    probation: node.probation,
    withheld: node.withheld,
  };
}

export function quarantineObject({ quarantine }: ListedNode): object | null {
  if (quarantine === null) return null;
  const { reason, evidence, at } = quarantine;
  return { reason, evidence, at: Math.floor(at.getTime() / 1000) };
}

/** In a query: the node that is meant. */
export const NodeField = z
  .string()
  .refine((text) => parseId("node", text) !== undefined, "must be a node's id (node_…)")
  .transform((text) => parseId("node", text));
export const EarningsQuery = z.object({ ...PageFields, ...SpanFields, node: NodeField.optional() });

export async function earningsList(work: NodeWork, accountId: Uuid, query: URLSearchParams): Promise<object> {
  const { cursor, limit, from, to, node: nodeId } = parseFields(EarningsQuery, Object.fromEntries(query));
  const [{ pending, paidOut, setOff, heldBack }, own, today, lines] = await Promise.all([
    work.money(accountId),
    work.earnings.own(accountId),
    work.earnings.sum(accountId, { nodeId, from: startOfDay(work.now()) }),
    page({
      cursors: work.cursors,
      list: `earnings ${accountId}`,
      cursor,
      limit,
      read: (before, max) =>
        work.earnings.lines(accountId, { nodeId, from, to, before: before as Uuid | undefined, limit: max }),
      position: ({ id }) => id,
      show: earningObject,
    }),
  ]);
  return {
    ...lines,
    balance: {
      earned_micro: exactMicro(pico(pending + paidOut + setOff)),
      own_micro: exactMicro(own),
      paid_out_micro: exactMicro(paidOut),
      set_off_micro: exactMicro(setOff),
      pending_micro: exactMicro(pending),
      held_back_micro: exactMicro(heldBack),
    },
    today_micro: exactMicro(today.earned),
  };
}

export function earningObject(line: EarningLine): object {
  return {
    request_id: publicId("req", line.id),
    node: line.nodeId === null ? null : publicId("node", line.nodeId),
    model: line.model,
    finished_at: Math.floor(line.finishedAt.getTime() / 1000),
    prompt_tokens: line.promptTokens,
    completion_tokens: line.completionTokens,
    outcome: line.outcome,
    earned_micro: exactMicro(line.earned),
    own: line.own,
  };
}

export const Try = z.object({
  model: z.string("must be a model id"),
  prompt: z
    .string("must be a string")
    .min(1, "must not be empty")
    .max(4000, "must have at most 4000 characters")
    .default("Say hello in one short sentence."),
  max_tokens: z
    .int("must be a whole number")
    .min(1, "must be 1 or more")
    .max(TRY_TOKENS_MAX, `must be ${TRY_TOKENS_MAX} or less`)
    .default(128),
});

/** A private request to one's own node: unbilled, unrecorded. */
export async function tryNode(work: NodeWork, node: Node, call: OpenCall): Promise<object> {
  const { model: modelId, prompt, max_tokens } = parseFields(Try, await call.readForm(node.accountId));
  const model = work.catalogue().active.get(modelId);
  if (model === undefined) throw invalidRequest("model", "model must be an active model of the catalogue");
  const id = publicId("node", node.id);
  const job = { id: work.newId(), nodeId: id, model, texts: [prompt], outputTokensMax: capOf(model, max_tokens) };
  const result = await work.runPrivately(job, call.gone);
  if (result === undefined) {
    const message =
      node.withheld === null
        ? `The node is not connected, or does not serve ${model.id} right now.`
        : "The node gets no work while another node of its host is in quarantine.";
    throw fault("node_state_conflict", { message });
  }
  if (result.end === "no_capacity") {
    throw fault("node_state_conflict", { message: "The node is busy: it declined the request." });
  }
  if (result.end === "failed") throw fault("upstream_failed", { message: "The node reported that it did not finish." });
  if (result.end === "quiet") throw fault("upstream_stall", { message: "The node went quiet for 2 seconds." });
  return tryObject(model, result);
}

const capOf = (model: ActiveModel, asked: number): number => (model.kind === "embedding" ? 0 : asked);

function tryObject(model: ActiveModel, result: PrivateResult): object {
  const { text, reasoning, vectors, finish, promptTokens, completionTokens, ttftMs, tokensPerSecond } = result;
  return {
    object: "node_try",
    model: model.id,
    text,
    ...(model.build.reasoning !== undefined && { vendor_reasoning_content: reasoning }),
    ...(model.kind === "embedding" && { vectors: { count: vectors.length, width: vectors[0]?.length ?? 0 } }),
    finish_reason: finish,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    ttft_ms: rounded(ttftMs),
    tps: rounded(tokensPerSecond),
  };
}

const startOfDay = (now: number): Date => new Date(Math.floor(now / DAY_MS) * DAY_MS);
const rounded = (value: number | null): number | null => (value === null ? null : Math.round(value * 10) / 10);
