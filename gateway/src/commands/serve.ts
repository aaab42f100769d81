/** `tollgate serve`: the production gateway. Logs to standard output; stops cleanly on SIGINT and SIGTERM. */
import { createLog } from "../base/log.ts";
import { parseConfig } from "../config.ts";
import type { Command } from "./line/command.ts";
import { untilStopped } from "./signals.ts";

export const serve: Command = {
  help: "the gateway, configured by environment variables alone",
  more: [
    "PORT and HOST say where it listens, DATABASE_URL and KEY_PEPPER which database it keeps, DATA_DIR where the rest is;",
    "docs/operators/settings.md has all of them. It logs JSON lines to standard output and drains on SIGTERM.",
  ],
  example: "",
  run,
};

const FIRST_OPERATOR =
  "Create one with the settings of this gateway: tollgate admin operator create --email you@example.com --password - (the password is read from standard input).";

async function run(): Promise<number> {
  const config = parseConfig(process.env);
  const log = createLog(config.logLevel);
  const stop = untilStopped();
  // Loaded here: the table of commands is read for every command, and this is by far the most of it.
  const { build } = await import("../build.ts");
  const { linkOriginOf } = await import("../build/listener.ts");
  const gateway = await build({
    config,
    log,
    progress: (what) => log.info(what),
    onLost: (error) => stop.now(error),
  });
  if (!(await gateway.identities.hasOperator())) {
    const consoleUrl = `${linkOriginOf({ ...config, port: gateway.port })}/console`;
    log.info({ consoleUrl }, `No operator exists yet. ${FIRST_OPERATOR} Then sign in at ${consoleUrl}.`);
  }
  void gateway.warm();
  const lost = await stop.asked;
  await gateway.close();
  if (lost !== undefined) throw lost;
  return 0;
}
