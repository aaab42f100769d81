/**
 * One request on its way to an answer: waits for a free node, offers it the job, and asks the next node if it declines.
 * If the node stops responding before any output reached the client, or returns no output, the request is retried once
 * on another node. A request that the dispatch plane lost is retried too, and that does not count as the one retry.
 */
import type { KeywordUse } from "@tollgate/protocol/json-schema.ts";
import type { CancelSignal } from "../base/cancel-signal.ts";
import type { Clock } from "../base/clock.ts";
import { PREFILL_MS_MAX, SILENT_NODES_PER_REQUEST_MAX } from "../base/node-trust-thresholds.ts";
import type { AttemptEnd } from "../base/stored-enumerations.ts";
import type { AttemptRunner } from "./attempt-runner.ts";
import { decideRetry, judgeSecondOpinion } from "./attempt-state-machine.ts";
import type { DispatchRequest, DispatchSink } from "./dispatch-request.ts";
import { type AttemptTimes, type DispatchResult, findDispatchEnd, makeDispatchResult } from "./dispatch-result.ts";
import type { RequiredNodeProperties } from "./node-index.ts";
import type { NodeWaitQueue, NodeWaitResult } from "./node-wait-queue.ts";
import type { Roster } from "./roster.ts";
import type { Attempt } from "./running-attempt.ts";

const RETRIES = 1;
const OFFERS_MAX = 99;

interface RequestRunOptions {
  attempts: AttemptRunner;
  queue: NodeWaitQueue;
  roster: Roster;
  clock: Clock;
  /** Called for every attempt that ended, once the node at fault is known. */
  over: (attempt: Attempt) => void;
  order: DispatchRequest;
  sink: DispatchSink;
  signal: CancelSignal;
  deadlineMs: number;
}

export class RequestRun {
  readonly #o: RequestRunOptions;
  readonly #startedAt: number;
  /** Nodes that ran this request; they are not asked again. */
  readonly #tried = new Set<string>();
  /** Nodes that declined this request a moment ago; they are asked again later. */
  readonly #declined = new Set<string>();
  /** All nodes that declined this request, because repeated refusals of one request count once. */
  readonly #refusedBy = new Set<string>();
  /** Nodes that fell silent during this request. */
  readonly #silent = new Set<string>();
  /** Whether the first silence has already been counted against its node or excused. */
  #isSilenceJudged = false;
  readonly #need: RequiredNodeProperties;
  /** The account of the request; the platform's own jobs share one. */
  readonly #account: string;
  #accepted = 0;
  readonly #tries: AttemptTimes[] = [];
  /** How long the request's nodes have read the prompt in total, in milliseconds. */
  #readMs = 0;
  /** The deadline by which a node must accept. */
  #deadline: number;
  /** When the dispatch plane first lost an attempt of this request. */
  #outageAt: number | undefined;

  constructor(options: RequestRunOptions) {
    this.#o = options;
    const { header, formatted = false, keywords = [], proven = false, origin } = options.order;
    this.#account = origin?.accountId ?? "";
    this.#need = {
      ...(formatted ? listRequiredNodeProperties(header.model, keywords) : { model: header.model }),
      proven,
    };
    this.#startedAt = options.clock.monotonic();
    this.#deadline = this.#startedAt + options.deadlineMs;
  }

  async go(): Promise<DispatchResult> {
    let retriesLeft = RETRIES;
    /** The attempt without an answer that was retried on another node. A request gets only one such retry. */
    let first: Attempt | undefined;
    /** The latest attempt that ended as `cut`: the dispatch plane lost its node. */
    let cut: Attempt | undefined;
    for (let number = 1; number <= OFFERS_MAX; number++) {
      const turn = await this.#nextNode(first);
      if (turn.kind === "cancelled") return this.#result("cancelled", undefined, first);
      // Without a node for the retry, the first attempt decides how the request ends.
      if (turn.kind === "no_capacity") break;
      const { attempts, order, sink, signal } = this.#o;
      const acceptBy = cut && this.#deadline;
      const mayPassOver = (): boolean => this.#couldAskAnother(turn.node, first);
      const prefillMsMax = PREFILL_MS_MAX - this.#readMs;
      const attempt = await attempts.run(order, number, turn.node, sink, {
        signal,
        acceptBy,
        mayPassOver,
        refusedBefore: this.#refusedBy.has(turn.node.id),
        prefillMsMax,
        began: () => first && this.#judgeSilence(first),
        ending: () => this.#o.queue.ended(this.#need, this.#account),
      });
      this.#note(attempt);
      const end = attempt.state as AttemptEnd;
      const decision = decideRetry(end, { reachedClient: sink.reachedClient, retriesLeft });
      this.#judge(attempt, first, decision === "retry");
      // After too many silent nodes, the request itself may be the cause, so no more nodes are asked.
      if (this.#silent.size >= SILENT_NODES_PER_REQUEST_MAX && end === "declined")
        return this.#result("quiet", first ?? attempt);
      if (end === "declined") {
        this.#declined.add(turn.node.id);
        this.#refusedBy.add(turn.node.id);
      } else if (decision === "again") {
        cut = attempt;
        if (!this.#mayTryAgain(attempt)) break;
      } else if (first?.state === "empty") {
        return this.#secondOpinion(first, attempt);
      } else if (decision === "retry") {
        retriesLeft -= 1;
        first = attempt;
        this.#tried.add(turn.node.id);
      } else {
        // The retry is used up, so no second node can confirm the empty answer.
        return this.#result(end === "empty" ? "unconfirmed" : findDispatchEnd(attempt), attempt, attempt);
      }
    }
    if (first?.state === "empty") return this.#result("unconfirmed", first, first);
    if (first !== undefined && !this.#hasOtherHosts(first)) this.#judgeSilence(first);
    if (cut !== undefined) return this.#result("cut", cut);
    return first === undefined ? this.#result("no_capacity", undefined) : this.#result("quiet", first);
  }

  /**
   * Decides whether silence counts against the node, because the request itself may be the cause. It counts once
   * another node returns output for the same request, or if no other host serves the model. If a node of another host
   * falls silent too, it counts against neither.
   */
  #judge(attempt: Attempt, first: Attempt | undefined, isRetried: boolean): void {
    const { state } = attempt;
    // An empty answer is counted once its second opinion is known.
    if (state === "empty") return;
    if (first?.state !== "quiet") {
      if (state !== "quiet" || !isRetried) this.#o.over(attempt);
      return;
    }
    if (state === "quiet") {
      const isKin = attempt.node.nodeRecord.hostAccountId === first.node.nodeRecord.hostAccountId;
      if (!isKin && !this.#isSilenceJudged) return;
      this.#judgeSilence(first);
    }
    this.#o.over(attempt);
  }

  #judgeSilence(first: Attempt): void {
    if (first.state !== "quiet" || this.#isSilenceJudged) return;
    this.#isSilenceJudged = true;
    this.#o.over(first);
  }

  /** Whether a node of another host, busy or free, could serve the request. */
  #hasOtherHosts({ node }: Attempt): boolean {
    return this.#o.roster.serves(this.#need, this.#kinOf(node));
  }

  #kinOf({ nodeRecord: { hostAccountId } }: Attempt["node"]): Set<string> {
    const kin = this.#o.roster.nodes().filter(({ nodeRecord }) => nodeRecord.hostAccountId === hostAccountId);
    return new Set(kin.map(({ id }) => id));
  }

  #note({ offeredAt, acceptedAt, firstOutputAt, aliveAt, failure, node, state }: Attempt): void {
    const since = (at: number): number => Math.round(at - this.#startedAt);
    this.#tries.push({
      nodeId: node.nodeRecord.nodeId,
      end: state as AttemptEnd,
      offeredMs: since(offeredAt),
      acceptedMs: acceptedAt && since(acceptedAt),
      firstOutputMs: firstOutputAt && since(firstOutputAt),
      endedMs: since(this.#o.clock.monotonic()),
    });
    if (acceptedAt !== null) {
      this.#accepted += 1;
      this.#readMs += (firstOutputAt ?? aliveAt) - acceptedAt;
    }
    if (failure === "silent" || failure === "lost") this.#silent.add(node.id);
  }

  /** Whether another free node could be asked instead of this one. */
  #couldAskAnother({ id }: { id: string }, first: Attempt | undefined): boolean {
    const excluded = new Set([id]).union(this.#declined).union(this.#ruledOut(first));
    return this.#o.roster.pick(this.#need, excluded, () => null) !== undefined;
  }

  /**
   * Decides whether to retry after the dispatch plane lost an attempt. A node must accept within the dispatch deadline,
   * counted from the first loss. Consecutive losses count as one outage, so that deadlines do not add up.
   */
  #mayTryAgain({ acceptedAt }: Attempt): boolean {
    const { clock, deadlineMs } = this.#o;
    const now = clock.monotonic();
    const isNew = this.#outageAt === undefined || now - this.#outageAt >= deadlineMs;
    if (acceptedAt !== null && isNew) this.#outageAt = now;
    this.#deadline = (this.#outageAt ?? this.#startedAt) + deadlineMs;
    return now < this.#deadline;
  }

  #secondOpinion(first: Attempt, second: Attempt): DispatchResult {
    const opinion = judgeSecondOpinion({ ...second, hadOutput: second.firstOutputAt !== null });
    if (opinion === "refuted") first.failure = "miss";
    if (opinion === "shared") this.#o.over(second);
    return opinion === "none"
      ? this.#result("unconfirmed", first, first)
      : this.#result(findDispatchEnd(second), second, first);
  }

  #nextNode(first: Attempt | undefined): Promise<NodeWaitResult> {
    return this.#o.queue.wait(this.#need, {
      account: this.#account,
      excluded: this.#ruledOut(first),
      declined: this.#declined,
      deadline: this.#deadline,
      signal: this.#o.signal,
    });
  }

  /**
   * Nodes that may not be asked next. The second node must belong to another host if possible: a host must not confirm
   * its own empty answers or excuse its own silences.
   */
  #ruledOut(first: Attempt | undefined): Set<string> {
    if (first === undefined) return this.#tried;
    const all = this.#tried.union(this.#kinOf(first.node));
    return this.#o.roster.serves(this.#need, all) ? all : this.#tried;
  }

  /**
   * Builds the result. `unjudged`: an attempt whose judgement waited for another node's answer to the same request.
   * That answer has arrived or can no longer arrive, so an empty attempt is reported now.
   */
  #result(end: DispatchResult["end"], attempt: Attempt | undefined, unjudged?: Attempt): DispatchResult {
    if (unjudged?.state === "empty") this.#o.over(unjudged);
    const result = makeDispatchResult(end, attempt, { startedAt: this.#startedAt, accepted: this.#accepted });
    return this.#tries.length > 1 ? { ...result, tries: this.#tries } : result;
  }
}

export const listRequiredNodeProperties = (model: string, keywords: readonly KeywordUse[]): RequiredNodeProperties => ({
  model,
  formatted: true,
  keywords: keywords.map(({ needs }) => needs),
});
