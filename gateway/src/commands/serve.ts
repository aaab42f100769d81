/** `tollgate serve`: the production gateway. Logs to standard output, readable on a terminal and JSON otherwise; stops cleanly on SIGINT and SIGTERM. */

import type { Command, Given, Surroundings } from "@tollgate/terminal/command.ts";
import { createLog, logStream } from "../base/log.ts";
import { parseConfig } from "../config.ts";
import { untilStopped } from "./signals.ts";

export const serve: Command = {
  help: "run the gateway, configured by environment variables",
  more: [
    "PORT and HOST set the address, DATABASE_URL the database, KEY_PEPPER the secret that hashes API keys, DATA_DIR the directory for everything else. docs/operators/settings.md lists all settings.",
    "The gateway logs to standard output: readable lines on a terminal, JSON otherwise (LOG_FORMAT=text or json to choose). On SIGTERM the gateway finishes the requests in flight, then stops.",
  ],
  example: "",
  run,
};

const FIRST_OPERATOR =
  "Create one with the settings of this gateway: tollgate admin operator create --email you@example.com --password - (the password is read from standard input).";

async function run(_given: Given, { env }: Surroundings): Promise<number> {
  const config = parseConfig(env);
  const log = createLog(config.logLevel, logStream(config.logFormat, process.stdout, env));
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
