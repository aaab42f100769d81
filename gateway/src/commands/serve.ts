/** `tollgate serve`: the production gateway. Logs to standard output; stops cleanly on SIGINT and SIGTERM. */
import { createLog } from "../base/log.ts";
import { parseConfig } from "../config.ts";
import { startGateway } from "../main.ts";
import { untilStopped } from "./signals.ts";

export async function serve(args: string[]): Promise<number> {
  if (args.length > 0)
    throw new Error(`serve takes no flags (got ${args[0]}); it is configured by environment variables`);
  const config = parseConfig(process.env);
  const log = createLog(config.logLevel);
  const stop = untilStopped();
  const gateway = await startGateway({
    config,
    log,
    progress: (what) => log.info(what),
    onLost: (error) => stop.now(error),
  });
  const lost = await stop.asked;
  await gateway.close();
  if (lost !== undefined) throw lost;
  return 0;
}
