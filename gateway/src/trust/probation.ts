/**
 * Counts the honest answers of nodes on probation: requests that somebody asked for, which ended well and had output. The
 * platform's own jobs do not count, nor a host's test of its node. Nothing is written of a node that is trusted.
 */
import type { Log } from "../base/log.ts";
import { isAway } from "../db/errors.ts";
import type { Dispatcher, Measured } from "../dispatch/dispatcher.ts";
import type { Roster } from "../dispatch/roster.ts";
import type { ActiveModel } from "../metering/catalogue.ts";

interface ProbationOptions {
  dispatcher: Pick<Dispatcher, "onMeasured">;
  roster: Pick<Roster, "find">;
  activeModel: (id: string) => ActiveModel | undefined;
  /** Notes that a node answered so many requests well. */
  record: (nodeId: string, answers: number) => Promise<void>;
  log: Log;
}

export function countAnswers({ dispatcher, roster, activeModel, record, log }: ProbationOptions): {
  /** Resolves once everything counted is recorded. */
  settled(): Promise<void>;
} {
  /** Counted and not yet recorded. One record at a time for each node: what comes meanwhile goes with the next. */
  const waiting = new Map<string, number>();
  const recording = new Map<string, Promise<void>>();

  const flush = async (nodeId: string): Promise<void> => {
    for (let answers = waiting.get(nodeId) ?? 0; answers > 0; answers = waiting.get(nodeId) ?? 0) {
      waiting.delete(nodeId);
      try {
        await record(nodeId, answers);
      } catch (error) {
        // The next answer tries again with these.
        waiting.set(nodeId, (waiting.get(nodeId) ?? 0) + answers);
        log[isAway(error) ? "debug" : "error"]({ err: error, node: nodeId }, "counting a node's good answers failed");
        return;
      }
    }
  };
  dispatcher.onMeasured((measured) => {
    const { nodeId, model } = measured;
    if ((roster.find(nodeId)?.licence.answersOwed ?? 0) === 0) return void waiting.delete(nodeId);
    if (!isHonestAnswer(measured, activeModel(model))) return;
    waiting.set(nodeId, (waiting.get(nodeId) ?? 0) + 1);
    if (recording.has(nodeId)) return;
    recording.set(
      nodeId,
      flush(nodeId).finally(() => recording.delete(nodeId)),
    );
  });
  return { settled: async () => void (await Promise.all(recording.values())) };
}

/** An embedding's output is its vectors, without which it does not end well. */
function isHonestAnswer({ own, tokens }: Measured, model: ActiveModel | undefined): boolean {
  return !own && model !== undefined && (model.kind === "embedding" || tokens.output > 0);
}
