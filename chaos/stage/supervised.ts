/** A process that is restarted a second after it died, as by systemd, until it is stopped. */

import type { Process } from "@tollgate/stage/process.ts";
import { eventually } from "@tollgate/stage/wait.ts";

const LOOK_EVERY_MS = 100;
const RESTART_AFTER_MS = 1_000;

export interface Supervised {
  readonly name: string;
  running(): boolean;
  /** `kill -9`; it comes back by itself. */
  kill(): Promise<void>;
  /** SIGSTOP. */
  freeze(): void;
  thaw(): void;
  /** SIGTERM, and waits until it has ended. It stays unreachable until it is started. */
  end(): Promise<void>;
  start(): Promise<void>;
  /** Another process in its place, from the next start on. */
  replace(process: Process): void;
}

export function supervise(first: Process, { endWithinMs = 60_000 } = {}): Supervised {
  let process = first;
  let isWanted = false;
  let restarting: Promise<void> | undefined;
  const startAgain = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, RESTART_AFTER_MS));
    // What it needs may be unreachable: it ends again, and is started again. Its log says why.
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
