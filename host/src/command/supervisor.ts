/**
 * Who decides how long this process runs: whoever sends it a signal, or the process that started it over an IPC channel,
 * by a message there or by the channel's end. So a node never outlives whoever started it.
 */

/** Ctrl-C reaches a whole process group, and some parents pass the signal on as well: one wish, two signals. */
const ECHO_MS = 500;

/** What the parent is told, once: that the node serves, or why it never will. */
export type Report =
  | { type: "online"; node: string; engine: string; models: string[]; slots: number }
  | { type: "failed"; message: string };

export interface Supervisor {
  /** Another process started this one over IPC and watches it. */
  readonly hasParent: boolean;
  /** Resolves at the first request to stop. */
  readonly stopRequested: Promise<void>;
  /** Aborts at the second: leave at once. */
  readonly hurry: AbortSignal;
  /** Resolves when the parent has it, or is gone. */
  tell(report: Report): Promise<void>;
}

export function supervisorOf(process: NodeJS.Process): Supervisor {
  const stop = new AbortController();
  const hurry = new AbortController();
  let askedAt: number | undefined;
  const ask = (): void => {
    const now = performance.now();
    if (askedAt === undefined) {
      askedAt = now;
      stop.abort();
    } else if (now - askedAt > ECHO_MS) {
      hurry.abort();
    }
  };
  process.on("SIGINT", ask);
  process.on("SIGTERM", ask);
  if (process.send !== undefined) {
    process.on("disconnect", ask);
    process.on("message", (message) => {
      if (typeof message === "object" && message !== null && "type" in message && message.type === "stop") ask();
    });
  }
  return {
    hasParent: process.send !== undefined,
    stopRequested: new Promise((resolve) => stop.signal.addEventListener("abort", () => resolve())),
    hurry: hurry.signal,
    tell: (report) =>
      new Promise((resolve) => {
        // An error means that the parent is gone, which `disconnect` reports.
        if (process.send !== undefined && process.connected)
          process.send(report, undefined, undefined, () => resolve());
        else resolve();
      }),
  };
}
