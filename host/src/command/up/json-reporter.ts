/** One JSON object a line, for scripts: what happened, and when. */
import type { AgentSnapshot } from "../../agent/snapshot.ts";
import { createLog } from "../../log.ts";
import type { CommandContext } from "../command.ts";
import type { Reporter } from "./reporter.ts";

const STATS_EVERY_MS = 15_000;

export function jsonReporter(logLevel: string, context: Pick<CommandContext, "terminal" | "clock">): Reporter {
  const { terminal, clock } = context;
  const log = createLog(logLevel);
  let snapshot: (() => AgentSnapshot) | undefined;
  const say = (type: string, more: object = {}): void =>
    terminal.print(JSON.stringify({ type, at: new Date(clock.now()).toISOString(), ...more }));
  return {
    log,
    statsEveryMs: STATS_EVERY_MS,
    engine: ({ name, slots, notes }) => say("engine", { engine: name, slots, notes: notes ?? [] }),
    node: (place) => say("node", place),
    serving(now) {
      snapshot = now;
    },
    status: (status) => say(status.type, "reason" in status ? { reason: status.reason?.message ?? null } : {}),
    stats: (stats) => say("stats", { gateway: stats, agent: snapshot?.() ?? null }),
    statsMissing: (reason) => say("stats_missing", { reason: reason.message }),
    stopping: () => say("stopping"),
    stopped: () => say("stopped"),
    close() {},
  };
}
