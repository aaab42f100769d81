/**
 * Decides when this process ends: on a signal, on a message of its parent process over IPC, or when that channel
 * closes. A node thus never outlives the process that started it.
 */

/**
 * A second signal within this time does not count. One Ctrl-C may arrive twice: the terminal signals the whole process
 * group, and some parents forward the signal.
 */
const ECHO_MS = 500;

/** The message to the parent process: the node is online, or the reason why it failed. */
export type SupervisorReport =
  | { type: "online"; node: string; engine: string; models: string[]; slots: number }
  | { type: "failed"; message: string };

export interface Supervisor {
  /** Whether a parent process is connected over IPC. */
  readonly hasParent: boolean;
  /** Resolves at the first request to stop. */
  readonly stopRequested: Promise<void>;
  /** Aborts at the second request to stop, which ends the process without waiting for jobs. */
  readonly hurry: AbortSignal;
  /** Sends a message to the parent. Resolves when the parent has received it or has ended. */
  tell(report: SupervisorReport): Promise<void>;
}

export function createSupervisor(process: NodeJS.Process): Supervisor {
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
        // An error means that the parent has ended, which `disconnect` reports.
        if (process.send !== undefined && process.connected)
          process.send(report, undefined, undefined, () => resolve());
        else resolve();
      }),
  };
}
