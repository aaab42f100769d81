/**
 * A process that owns a private PostgreSQL server like a gateway, for tests that kill it, start it twice or run it as
 * another user. It prints events as JSON lines, and stops the server when its standard input ends.
 */
import { systemClock } from "../../base/clock.ts";
import { createLog } from "../../base/log.ts";
import { startPrivatePostgres } from "../private-postgres.ts";
import { PrivatePostgresError } from "./errors.ts";

export type TestGatewayReport =
  | { event: "progress"; what: string }
  | { event: "ready"; pid: number; adopted: boolean; host: string }
  | { event: "refused"; name: string; message: string }
  | { event: "stopped" };

function say(line: TestGatewayReport): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function main(dataDir: string, rootPlace: string): Promise<void> {
  const postgres = await startPrivatePostgres({
    dataDir,
    rootPlace,
    log: createLog("silent"),
    clock: systemClock,
    progress: (what) => say({ event: "progress", what }),
  });
  say({ event: "ready", pid: postgres.pid, adopted: postgres.adopted, host: postgres.connection.host });
  for await (const _ of process.stdin);
  await postgres.stop();
  say({ event: "stopped" });
}

const [dataDir, rootPlace] = process.argv.slice(2);
if (import.meta.main && dataDir && rootPlace) {
  try {
    await main(dataDir, rootPlace);
  } catch (error) {
    if (!(error instanceof PrivatePostgresError)) throw error;
    say({ event: "refused", name: error.name, message: error.message });
    process.exitCode = 1;
  }
}
