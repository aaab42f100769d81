/** What a person at the keyboard is told when a command cannot go on: what is wrong, and what to do next. */

import { LLAMA_CPP, NoLlamaCpp } from "../engines/llama-cpp/load.ts";
import { UsageError } from "./arguments.ts";
import { GatewayRefusal, GatewayUnreachable } from "./gateway/call.ts";

/** Something outside the command stands in the way. The message and each detail are one line; `next` says what helps. */
export class CommandError extends Error {
  override name = "CommandError";
  readonly details: readonly string[];
  readonly next: string | undefined;
  constructor(message: string, options: { details?: readonly string[]; next?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.details = options.details ?? [];
    this.next = options.next;
  }
}

export interface ErrorReport {
  /** One line each. */
  lines: string[];
  next: string | undefined;
  /** The gateway's stable code, where it gave one. */
  code: string | undefined;
  /** 2 for a mistake in the command line, 1 for everything else. */
  exitCode: 1 | 2;
}

/** A token that was typed in the wrong place is not repeated either. */
const SECRET = /\b(t(?:ht|sk)_live)_\w+/g;

export function describeError(error: unknown, command: string | undefined): ErrorReport {
  const report = explain(error, command);
  return { ...report, lines: report.lines.map((line) => line.replaceAll(SECRET, "$1_…")) };
}

function explain(error: unknown, command: string | undefined): ErrorReport {
  if (error instanceof UsageError) {
    const next = `tollgate-host ${command === undefined ? "" : `${command} `}--help`;
    return { lines: error.mistakes, next, code: undefined, exitCode: 2 };
  }
  const said = (message: string): string => message.split("\n")[0] ?? message;
  if (error instanceof GatewayRefusal) {
    const lines = [`${said(error.message)}${error.code === undefined ? "" : ` (${error.code})`}`];
    return { lines, next: REMEDIES[error.code ?? ""], code: error.code, exitCode: 1 };
  }
  if (error instanceof GatewayUnreachable)
    return { lines: [said(error.message)], next: UNREACHABLE, code: undefined, exitCode: 1 };
  if (error instanceof NoLlamaCpp) return { lines: [error.message], next: INSTALL, code: undefined, exitCode: 1 };
  if (error instanceof CommandError)
    return { lines: [error.message, ...error.details], next: error.next, code: undefined, exitCode: 1 };
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? ` (${error.code})` : "";
  return { lines: [`${said(message)}${code}`], next: undefined, code: undefined, exitCode: 1 };
}

const INSTALL = `npm install ${LLAMA_CPP} where tollgate-host is installed, or serve with another engine (--engine)`;
const UNREACHABLE = "check the address and the network; tollgate-host login --gateway URL stores another address";

/** What helps against the gateway's refusals, by its stable codes. */
const REMEDIES: Record<string, string | undefined> = {
  invalid_host_token: "make a new host token in the console and store it with tollgate-host login",
  node_not_found: "tollgate-host register makes this machine a node of your account",
  node_quarantined: "tollgate-host status shows the evidence; an operator of the platform releases the node",
  node_state_conflict: "tollgate-host status shows the node's state",
  node_name_taken: "tollgate-host status --all lists the names that are taken",
  too_many_nodes: "tollgate-host retire --node ID ends one that you use no more: tollgate-host status --all lists them",
  no_elected_builds: "tollgate-host elect chooses the models to serve",
  not_implemented: "this platform has no dispatch plane: ask its operator",
  dispatch_admin_error: "the platform could not issue credentials: try again, or ask its operator",
  upstream_failed: "look at the engine's own log; tollgate-host doctor tests it without the gateway",
  upstream_stall: "the engine went quiet for two seconds: tollgate-host doctor tests it without the gateway",
};
