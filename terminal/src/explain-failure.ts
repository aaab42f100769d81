/**
 * Prints a failed command's error: one line with the problem and the next step. The stack is printed only on request.
 */
import { CommandError, UsageError } from "./errors.ts";
import { sanitiseForTerminal } from "./terminal-text.ts";

export interface CommandFailure {
  /** What happened, with the value concerned. */
  message: string;
  /** Where the command looked or what it tried, one line each. */
  details: string[];
  /** What to do about the failure. */
  next: string;
  /** The server's stable error code, if it sent one. */
  code?: string | undefined;
  /** 2 for a mistake in the command line, 1 for everything else. */
  exitCode: 1 | 2;
}

/** Explains errors of one program. Returns undefined for other errors. */
export type ExplainError = (
  error: unknown,
) => { message: string; next: string | undefined; code?: string | undefined } | undefined;

/** Matches Tollgate's secret tokens, to hide one that was typed in the wrong place. */
const SECRET = /\b(t(?:ht|sk)_live|tgs)_[\w-]+/g;
const UNKNOWN = "run the command again with TOLLGATE_TRACE=1 to see the stack trace";

export function explainFailure(
  error: unknown,
  program: string,
  explain: ExplainError = () => undefined,
  usual = UNKNOWN,
): CommandFailure {
  const { message, next, code } = described(error, program, explain);
  const line = (text: string): string => sanitiseForTerminal(text.split("\n")[0] ?? "").replaceAll(SECRET, "$1_…");
  const details = error instanceof CommandError ? error.details.map(line) : [];
  const exitCode = error instanceof UsageError ? 2 : 1;
  return { message: line(message), details, next: next ?? usual, code, exitCode };
}

function described(error: unknown, program: string, explain: ExplainError): ReturnType<ExplainError> & object {
  if (error instanceof UsageError) {
    return { message: error.message, next: [program, error.command, "--help"].filter(Boolean).join(" ") };
  }
  if (error instanceof CommandError) return { message: error.message, next: error.next };
  const known = explain(error);
  if (known !== undefined) return known;
  const system = explainSystemError(error);
  const own = String((error as Error)?.message ?? error);
  // An error that wraps a system error is shown with its own message, which names what was tried.
  const saysMore = system !== undefined && (error as SystemError).code === undefined && !EMPTY.test(own);
  return { message: system === undefined || saysMore ? own : system.message, next: system?.next };
}

/** Messages without content: the empty one of an error that collects several, and that of a failed `fetch`. */
const EMPTY = /^(fetch failed)?$/;

interface SystemError extends Error {
  code?: string;
  path?: string;
  address?: string;
  hostname?: string;
  port?: number;
}

type Words = (error: SystemError) => { message: string; next: string };
const placeOf = ({ address, hostname, port }: SystemError): string =>
  [address ?? hostname, port].filter((part) => part !== undefined).join(":") || "the server";
const fileOf = ({ path }: SystemError): string => path ?? "the file";

/** Messages for errors of the operating system. They contain the error code, because people search for it. */
const SYSTEM: Record<string, Words> = {
  ECONNREFUSED: (error) => ({
    message: `nothing listens at ${placeOf(error)} (ECONNREFUSED)`,
    next: "check the address, and that the server at this address runs",
  }),
  ENOTFOUND: (error) => ({
    message: `the host name ${error.hostname ?? ""} cannot be resolved (ENOTFOUND)`,
    next: "check the address and the network",
  }),
  EAI_AGAIN: (error) => ({
    message: `the host name ${error.hostname ?? ""} cannot be resolved (EAI_AGAIN)`,
    next: "check the address and the network",
  }),
  ETIMEDOUT: (error) => ({
    message: `${placeOf(error)} does not answer (ETIMEDOUT)`,
    next: "check the address, the network and any firewall",
  }),
  ECONNRESET: (error) => ({
    message: `${placeOf(error)} closed the connection (ECONNRESET)`,
    next: "try again; if it repeats, look at the server's log",
  }),
  EADDRINUSE: (error) => ({
    message: `port ${error.port ?? "?"} is already in use (EADDRINUSE)`,
    next: "stop the program that uses this port, or choose another port",
  }),
  EACCES: (error) => ({
    message: `no permission for ${fileOf(error)} (EACCES)`,
    next: "run the command as the owner of this file, or change the file's permissions",
  }),
  EPERM: (error) => ({
    message: `no permission for ${fileOf(error)} (EPERM)`,
    next: "run the command as the owner of this file, or change the file's permissions",
  }),
  EROFS: (error) => ({
    message: `${fileOf(error)} is read-only (EROFS)`,
    next: "choose a path that you can write to",
  }),
  ENOENT: (error) => ({ message: `${fileOf(error)} does not exist (ENOENT)`, next: "check the path" }),
  EEXIST: (error) => ({
    message: `${fileOf(error)} exists already (EEXIST)`,
    next: "choose another path, or remove the existing file or folder",
  }),
  ENOTDIR: (error) => ({
    message: `a part of this path is a file: ${fileOf(error)} (ENOTDIR)`,
    next: "choose another path",
  }),
  EISDIR: (error) => ({ message: `${fileOf(error)} is a directory (EISDIR)`, next: "name a file" }),
  ENOSPC: (error) => ({ message: `no space left to write ${fileOf(error)} (ENOSPC)`, next: "free some disk space" }),
};

/** Finds the first operating-system error among an error, its causes and the errors it collects, and explains it. */
export function explainSystemError(error: unknown): { message: string; next: string } | undefined {
  for (const one of chainOf(error)) {
    const words = SYSTEM[(one as SystemError).code ?? ""];
    if (words !== undefined) return words(one as SystemError);
  }
  return undefined;
}

function* chainOf(error: unknown): Generator<Error> {
  if (!(error instanceof Error)) return;
  yield error;
  if (error instanceof AggregateError) for (const one of error.errors) yield* chainOf(one);
  yield* chainOf(error.cause);
}

/** Formats a failure as `what happened. Next: what to do`. */
export function formatFailureLine({ message, next }: CommandFailure): string {
  return `${message.replace(/\.$/, "")}${message.endsWith("?") ? "" : "."} Next: ${next}`;
}

/**
 * The stack traces of an error and its causes. Messages are left out, because they may quote a file that contains a
 * secret.
 */
export function collectStackTraces(error: unknown): string[] {
  return [...chainOf(error)].flatMap(({ name, stack = "" }) => [
    `  ${name}`,
    ...stack.split("\n").filter((line) => line.startsWith("    at ")),
  ]);
}
