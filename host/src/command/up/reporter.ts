/**
 * The interface through which `up` reports its progress, with implementations for plain lines and JSON lines. The live
 * screen is in screen.ts.
 */

import { sanitiseForTerminal } from "@tollgate/terminal/terminal-text.ts";
import type { AgentStatus } from "../../agent/agent.ts";
import type { AgentSnapshot } from "../../agent/agent-snapshot.ts";
import type { Engine } from "../../engines/engine.ts";
import { createLog, type Log } from "../../log.ts";
import type { CommandContext } from "../command.ts";
import type { NodeStatsAnswer } from "../gateway/gateway-answers.ts";
import { formatQuarantineReason, withheldRequestsReason } from "../quarantine-texts.ts";

export interface Reporter {
  readonly log: Log;
  /** The interval at which the node's statistics are fetched from the gateway. */
  readonly statsEveryMs: number;
  /** Called while the engine is not ready yet. */
  waiting(reason: string): void;
  engine(engine: Engine): void;
  node(place: { node: string; gateway: string; models: string[] }): void;
  /** Called before the agent starts. `snapshot` returns the agent's state at any time. */
  serving(snapshot: () => AgentSnapshot): void;
  status(status: AgentStatus): void;
  /** Called with the gateway's latest statistics of the node. */
  stats(stats: NodeStatsAnswer): void;
  /** Called when the gateway does not return statistics. */
  statsMissing(reason: Error): void;
  stopping(): void;
  stopped(): void;
  /** Ends the reporter. No calls follow. */
  close(): void;
}

export function describeConnection(status: AgentStatus): string {
  if (status.type === "online") return "online   waiting for requests";
  const reason =
    status.reason?.message.split("\n")[0]?.replace(/\.$/, "") ?? "the connection to the gateway was closed";
  return `offline  ${sanitiseForTerminal(reason)}; ${status.type === "offline" ? "reconnecting" : "trying again"}`;
}

/** Explains a state in which the node gets no requests. Undefined for other states. */
export function describeStanding({
  state,
  quarantine,
  withheld,
}: Pick<NodeStatsAnswer, "state" | "quarantine" | "withheld">): string | undefined {
  if (state === "paused") return "paused   this node gets no new requests; tollgate-host resume ends the pause";
  if (state === "retired") return "retired  this node gets no more requests";
  if (state !== "quarantined" && withheld != null) {
    return `blocked  this node gets no requests: ${withheldRequestsReason(withheld)}; next: tollgate-host status`;
  }
  if (state !== "quarantined") return undefined;
  const reason = quarantine == null ? "" : ` (${formatQuarantineReason(quarantine)})`;
  return `quarantined${reason}: this node gets no requests; to see the evidence: tollgate-host status`;
}

const PLAIN_STATS_EVERY_MS = 60_000;

/** Prints plain lines for logs and pipes: one line per change. */
export function createPlainReporter(logLevel: string, { terminal }: Pick<CommandContext, "terminal">): Reporter {
  const log = createLog(logLevel, terminal.remarkPaint);
  const { print } = terminal;
  let standing: string | undefined;
  let line: string | undefined;
  return {
    log,
    statsEveryMs: PLAIN_STATS_EVERY_MS,
    waiting: (reason) => print(`waiting  ${reason}`),
    engine(engine) {
      print(`engine   ${engine.name}, ${engine.slots} at once`);
      for (const note of engine.notes ?? []) print(`note     ${note}`);
    },
    node: ({ node, gateway, models }) => print(`node     ${node} at ${gateway}, serving ${models.join(", ")}`),
    serving() {},
    status(status) {
      const now = describeConnection(status);
      // If reconnecting fails repeatedly with the same error, the error is printed once.
      if (now !== line) print(now);
      line = now;
    },
    stats(stats) {
      const now = describeStanding(stats);
      if (now === standing) return;
      print(now ?? `${stats.state.padEnd(8)} accepting requests again`);
      standing = now;
    },
    statsMissing: (reason) => log.info({ err: reason }, "the gateway did not report the node's state"),
    stopping: () => print("stopping when the requests in flight have ended; Ctrl-C again stops at once"),
    stopped: () => print("stopped"),
    close() {},
  };
}

const JSON_STATS_EVERY_MS = 15_000;

/** Prints one JSON object per line, with the event and its time. */
export function jsonReporter(logLevel: string, context: Pick<CommandContext, "terminal" | "clock">): Reporter {
  const { terminal, clock } = context;
  const log = createLog(logLevel, terminal.remarkPaint);
  let snapshot: (() => AgentSnapshot) | undefined;
  const say = (type: string, more: object = {}): void =>
    terminal.print(JSON.stringify({ type, at: new Date(clock.now()).toISOString(), ...more }));
  return {
    log,
    statsEveryMs: JSON_STATS_EVERY_MS,
    waiting: (reason) => say("waiting", { reason }),
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
