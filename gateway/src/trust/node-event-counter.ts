/**
 * Counts events of each node at this gateway for the node's record in the database: good answers, failures, silences,
 * refusals, late acceptances. Written in batches every few seconds to keep requests cheap. Answers of a node on
 * probation are written immediately, because the node gets no further request until then.
 */
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { isDatabaseUnreachable } from "../db/errors.ts";
import type { Dispatcher, MeasuredAnswer } from "../dispatch/dispatcher.ts";
import type { Roster } from "../dispatch/roster.ts";
import { NO_OBSERVED_COUNTS, type ObservedNodeCounts } from "../fleet/node-record.ts";
import type { ActiveModel } from "../metering/catalogue.ts";

const WRITE_EVERY_MS = 5_000;

interface NodeEventCounterOptions {
  dispatcher: Pick<Dispatcher, "onMeasured">;
  roster: Pick<Roster, "find">;
  activeModel: (id: string) => ActiveModel | undefined;
  /** Adds the counts to the nodes' records in the database. */
  write: (seen: ReadonlyMap<string, ObservedNodeCounts>) => Promise<void>;
  clock: Clock;
  log: Log;
}

export interface NodeEventCounter {
  saw(nodeId: string, what: Exclude<keyof ObservedNodeCounts, "answers">): void;
  /** Resolves once all counts were written or the write failed. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export function countNodeEvents({
  dispatcher,
  roster,
  activeModel,
  write,
  clock,
  log,
}: NodeEventCounterOptions): NodeEventCounter {
  let waiting = new Map<string, ObservedNodeCounts>();
  let writing: Promise<void> | undefined;
  let isUrgent = false;

  const add = (nodeId: string, seen: Partial<ObservedNodeCounts>): void => {
    const before = waiting.get(nodeId) ?? NO_OBSERVED_COUNTS;
    const sum = { ...before };
    for (const [what, count] of Object.entries(seen) as [keyof ObservedNodeCounts, number][]) sum[what] += count;
    waiting.set(nodeId, sum);
  };
  const flush = async (): Promise<void> => {
    do {
      isUrgent = false;
      const seen = waiting;
      waiting = new Map();
      try {
        await write(seen);
      } catch (error) {
        // The write failed: keeps the counts for the next attempt.
        for (const [nodeId, one] of seen) add(nodeId, one);
        log[isDatabaseUnreachable(error) ? "debug" : "error"](
          { err: error },
          "could not save the counts of answers and failures of nodes; retrying",
        );
        return;
      }
    } while (isUrgent);
  };
  /** Runs one write at a time; counts that arrive meanwhile go into the next one. */
  const begin = (): void => {
    if (waiting.size === 0) return;
    writing ??= flush().finally(() => {
      writing = undefined;
    });
  };
  dispatcher.onMeasured((measured) => {
    if (!isHonestAnswer(measured, activeModel(measured.model))) return;
    add(measured.nodeId, { answers: 1 });
    if ((roster.find(measured.nodeId)?.nodeRecord.answersOwed ?? 0) === 0) return;
    isUrgent = true;
    begin();
  });
  const stopTimer = clock.every(WRITE_EVERY_MS, begin);
  const settled = async (): Promise<void> => {
    await writing;
    begin();
    await writing;
  };
  return {
    saw: (nodeId, what) => add(nodeId, { [what]: 1 }),
    settled,
    async stop() {
      stopTimer();
      await settled();
    },
  };
}

/**
 * Whether the answer counts for the node's record: a user's request got output. An embedding that ended well always has
 * its vectors.
 */
function isHonestAnswer({ own, tokens }: MeasuredAnswer, model: ActiveModel | undefined): boolean {
  return !own && model !== undefined && (model.kind === "embedding" || tokens.output > 0);
}
