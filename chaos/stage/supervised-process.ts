/** A process with a supervisor that restarts it a second after it died, as systemd does, until it is stopped. */

import type { Process } from "@tollgate/stage/killable-process.ts";
import { eventually } from "@tollgate/stage/wait.ts";

const LOOK_EVERY_MS = 100;
const RESTART_AFTER_MS = 1_000;

export interface SupervisedProcess {
  readonly name: string;
  running(): boolean;
  /** Sends SIGKILL; the supervisor restarts the process. */
  kill(): Promise<void>;
  /** Sends SIGSTOP. */
  freeze(): void;
  thaw(): void;
  /** Sends SIGTERM and waits for the end. The supervisor does not restart the process until `start` is called. */
  end(): Promise<void>;
  start(): Promise<void>;
  /** Sets the process that the supervisor runs from the next start on. */
  replace(process: Process): void;
}

export function superviseProcess(first: Process, { endWithinMs = 60_000 } = {}): SupervisedProcess {
  let process = first;
  let isWanted = false;
  let restarting: Promise<void> | undefined;
  const startAgain = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, RESTART_AFTER_MS));
    // A start fails if a server that the process needs is unreachable. The supervisor tries again, and the process's
    // log has the reason.
    if (isWanted && !process.running()) await process.start().catch(() => undefined);
  };
  const looking = setInterval(() => {
    if (!isWanted || process.running()) return;
    restarting ??= startAgain().finally(() => {
      restarting = undefined;
    });
  }, LOOK_EVERY_MS);
  looking.unref();
  return {
    name: first.name,
    running: () => process.running(),
    kill: () => process.kill(),
    freeze: () => process.stop(),
    thaw: () => process.cont(),
    async start() {
      await restarting;
      isWanted = true;
      if (!process.running()) await process.start();
    },
    async end() {
      isWanted = false;
      await restarting;
      process.cont();
      await process.end("SIGTERM", endWithinMs);
      await eventually(`${first.name} has ended`, async () => !process.running());
    },
    replace(other) {
      process = other;
    },
  };
}
