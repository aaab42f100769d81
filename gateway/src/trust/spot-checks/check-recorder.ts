/** Records the outcome of a check, and quarantines the node if its test fails. */
import type { Clock } from "../../base/clock.ts";
import type { Uuid } from "../../base/ids.ts";
import type { Log } from "../../base/log.ts";
import { pico } from "../../base/money.ts";
import type { RosterNode } from "../../dispatch/roster-node.ts";
import type { QuarantineVerdict } from "../reliability.ts";
import type { Calibration } from "./calibration.ts";
import type { VerifierResult } from "./check-jobs.ts";
import { drawNextCheckTimeMs } from "./sampling.ts";
import {
  computeEvidenceStrength,
  hasFailed,
  isStronglySuspected,
  isSuspected,
  type SequentialTestState,
} from "./sequential-test.ts";
import type { CheckStore } from "./store.ts";
import type { CheckVerdict } from "./verdict.ts";
import { benchOf, type Run } from "./verifier-queries.ts";
import type { WatchedNodes } from "./watched-nodes.ts";

/** The payments of spot checks, through the ledger's functions. */
export interface SpotCheckPayments {
  /** Withholds the node's earnings since this time. */
  withhold(nodeId: Uuid, since: Date): Promise<void>;
}

/** The number of checks by result, since this gateway started. */
export interface CheckCounts {
  drawn: number;
  run: number;
  dropped: number;
  bad: number;
  tokens: number;
  pico: bigint;
}

/**
 * The outcome of a check. A trap (the answer with shuffled words, which tests the verifier) has no factors, because it
 * is no evidence about the node that answered.
 */
type Decided = Partial<Pick<CheckVerdict, "factors">> & {
  verdict: string;
  badness: number | undefined;
  calibrates: boolean;
};

export interface QuarantineOptions {
  money: SpotCheckPayments;
  /** The share of honest nodes that may be quarantined by chance per day. */
  falseAlarms: number;
  /** Quarantines the node, given its public ID. */
  quarantine: (nodeId: string, verdict: QuarantineVerdict) => Promise<void>;
  /** Whether nodes are quarantined. When false, a failed test is only logged. */
  automatic: boolean;
  clock: Clock;
  log: Log;
}

interface RecorderOptions extends QuarantineOptions {
  store: Pick<CheckStore, "record" | "badScores">;
  calibration: Calibration;
  watched: WatchedNodes;
  counts: CheckCounts;
  /** Uniform in [0, 1). */
  roll: () => number;
}

export class CheckRecorder {
  readonly #options: RecorderOptions;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  async record(run: Run, said: VerifierResult, decided: Decided): Promise<SequentialTestState> {
    const { store, clock, counts } = this.#options;
    const { node, subject } = run;
    const watched = this.#options.watched.watch(node.id, subject.model.id, clock.monotonic());
    const answers = watched.answers;
    watched.answers = 0;
    watched.dueAt = drawNextCheckTimeMs(clock.monotonic(), this.#options.roll());
    counts.run += 1;
    counts.tokens += run.tokens;
    counts.pico += run.cost;
    if (decided.verdict === "bad") counts.bad += 1;
    const isTrap = decided.factors === undefined;
    const state = await store.record(
      {
        id: run.id,
        requestId: subject.requestId,
        nodeId: node.nodeRecord.nodeId,
        verifierId: run.verifier.nodeRecord.nodeId,
        model: subject.model.id,
        method: said.method,
        class: benchOf(run, said).class,
        score: said.score,
        badness: decided.badness,
        verdict: decided.verdict,
        calibrates: decided.calibrates,
        tokens: run.tokens,
        cost: pico(run.cost),
        at: new Date(clock.now()),
        answers,
      },
      decided.factors && { factors: decided.factors, confirmedBad: decided.verdict === "bad" },
      run.payments,
    );
    run.payments = [];
    if (isTrap) return state;
    watched.suspected = isSuspected(state);
    watched.pressed = isStronglySuspected(state);
    if (hasFailed(state, this.#options.falseAlarms)) await this.#fail(node, subject.model.id, state);
    return state;
  }

  async #fail(node: RosterNode, model: string, state: SequentialTestState): Promise<void> {
    const { store, money, log, automatic, falseAlarms } = this.#options;
    const { nodeId, hostAccountId } = node.nodeRecord;
    const since = new Date(state.badSince ?? state.at ?? 0);
    const scores = await store.badScores(nodeId, model, since);
    const evidence = {
      model,
      scores: scores.map(({ at, score, method }) => ({ at: at.toISOString(), score, method })),
      since: since.toISOString(),
      bad_scores: state.confirmed,
      strength: Math.round(computeEvidenceStrength(state)),
      threshold: Math.round(1 / falseAlarms),
    };
    if (!automatic) {
      log.warn(
        { node: node.id, evidence },
        "node failed its spot checks and is not quarantined: automatic quarantine is off",
      );
      return;
    }
    this.#options.calibration.forget(hostAccountId);
    await this.#options.quarantine(node.id, { reason: "spot_check", evidence });
    await money.withhold(nodeId, since);
  }
}
