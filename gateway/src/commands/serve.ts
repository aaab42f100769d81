/**
 * `tollgate serve`: runs a production gateway. It logs to standard output, as text on a terminal and as JSON otherwise,
 * and stops cleanly on SIGINT and SIGTERM.
 */

import type { BaseCommandContext, Command, CommandInput } from "@tollgate/terminal/command.ts";
import { systemClock } from "../base/clock.ts";
import { newIds } from "../base/ids.ts";
import { createLog, type Log, logStream } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import type { BuiltGateway } from "../build.ts";
import { type Config, parseConfig } from "../config.ts";
import { readWorkerSettings } from "../workers/worker-settings.ts";
import { type StopRequest, waitForStopSignal } from "./stop-signals.ts";

export const serveCommand: Command = {
  help: "run the gateway, configured by environment variables",
  more: [
    "PORT and HOST set the address, DATABASE_URL the database, KEY_PEPPER the secret that hashes API keys, DATA_DIR the directory for everything else. docs/operators/settings.md lists all settings.",
    "The gateway logs to standard output: readable lines on a terminal, JSON otherwise (LOG_FORMAT=text or json to choose). On SIGTERM the gateway finishes the requests in flight, then stops. On SIGHUP it replaces its worker processes one after the other.",
  ],
  example: "",
  run,
};

const FIRST_OPERATOR =
  "To create one, run `tollgate admin operator create --email you@example.com --password -` with this gateway's environment variables. The command reads the password from standard input.";

async function run(_given: CommandInput, { env }: BaseCommandContext): Promise<number> {
  const config = parseConfig(env);
  const log = createLog(config.logLevel, logStream(config.logFormat, process.stdout, env));
  const workerSettings = readWorkerSettings(env);
  if (workerSettings !== undefined) {
    // Imported here: the gateway is large, and a static import would load it for every command.
    const { runWorker } = await import("../workers/worker.ts");
    return await runWorker({
      workerSettings,
      config,
      log,
      served: (gateway) => void nameFirstOperator(gateway, config, log),
    });
  }
  const stop = waitForStopSignal();
  const { logFindings } = await import("./doctor/run-checks.ts");
  // Runs during the start, so that a gateway that waits for a dependency also logs other problems.
  void logFindings({ config, clock: systemClock, newId: newIds(systemClock, systemRandom()) }, log);
  if (config.workers > 1) {
    const { runPrimary } = await import("../workers/primary.ts");
    const onReplace = (replace: () => void): void => void process.on("SIGHUP", replace);
    return await runPrimary({ config, log, stopped: stop.asked, onLost: stop.now, onReplace });
  }
  process.on("SIGHUP", () =>
    log.warn("SIGHUP has no effect: with WORKERS=1 no other process could serve requests during a restart"),
  );
  return await serveAlone(config, log, stop);
}

async function serveAlone(config: Config, log: Log, stop: StopRequest): Promise<number> {
  const { buildGateway: build } = await import("../build.ts");
  const { StoppedWhileWaiting } = await import("../build/wait-for-dependencies.ts");
  const gateway = await build({
    config,
    log,
    progress: (what) => log.info(what),
    onLost: (error) => stop.now(error),
    stopped: stop.asked,
  }).catch((error) => {
    if (error instanceof StoppedWhileWaiting) return undefined;
    throw error;
  });
  if (gateway === undefined) return 0;
  void nameFirstOperator(gateway, config, log);
  void gateway.warm();
  const lost = await stop.asked;
  await gateway.close();
  if (lost !== undefined) throw lost;
  return 0;
}

/** While there is no operator, logs how to create one. A failed query is ignored. */
async function nameFirstOperator(
  { identities, port }: Pick<BuiltGateway, "identities" | "port">,
  config: Config,
  log: Log,
): Promise<void> {
  const hasOperator = await identities.hasOperator().catch((error) => {
    log.warn({ err: error }, "could not check whether an operator exists");
    return true;
  });
  if (hasOperator) return;
  const { deriveLinkOrigin: linkOriginOf } = await import("../build/http-listener.ts");
  const consoleUrl = `${linkOriginOf({ ...config, port })}/console`;
  log.info({ consoleUrl }, `No operator exists yet. ${FIRST_OPERATOR} Then sign in at ${consoleUrl}.`);
}
