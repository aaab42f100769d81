/** Runs a gateway as a process: `tollgate serve`, as an operator runs it, from these or other sources. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createProcess, makeMinimalEnvironment, type Process } from "./killable-process.ts";
import { findDatabase, openDatabase, TEST_KEY_PEPPER } from "./stage-database.ts";

/** The root directory of these sources. */
export const REPOSITORY_ROOT = fileURLToPath(new URL("../", import.meta.url));

export interface GatewayProcess extends Process {
  baseUrl: string;
  internalPort: number;
  logFile: string;
  /** Stops the gateway with SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

interface GatewayOptions {
  name: string;
  dataDir: string;
  logFile: string;
  /** Settings besides those that a gateway on the test machine needs. */
  env: Record<string, string>;
  root: string;
  /** A command and arguments to put before the gateway's command, such as a wrapper that changes its network. */
  wrapper?: string[];
  /** Checks whether the gateway is ready. Default: it is ready as soon as it has started. */
  ready?: () => Promise<boolean>;
}

/** Creates a gateway process without starting it. */
export function createGatewayProcess({
  name,
  dataDir,
  logFile,
  env,
  root,
  wrapper = [],
  ready,
}: GatewayOptions): Process {
  return createProcess({
    name,
    command: [
      ...wrapper,
      ...[process.execPath, "--max-semi-space-size=16", join(root, "gateway/bin/tollgate.mjs"), "serve"],
    ],
    log: logFile,
    environment: { ...makeMinimalEnvironment(), ...env, DATA_DIR: dataDir },
    ...(ready !== undefined && { ready }),
  });
}

/**
 * Starts `tollgate serve` on free ports and waits until it accepts requests. Its log goes to a file, as an operator's
 * would.
 */
export async function startGatewayProcess(
  dataDir: string,
  env: Record<string, string>,
  name = "gateway",
  root = REPOSITORY_ROOT,
): Promise<GatewayProcess> {
  const logFile = join(dataDir, `${name}.log`);
  if (env.DATABASE_URL === undefined) await openDatabase(dataDir);
  let ports: RegExpExecArray | null = null;
  const logBytes = await stat(logFile).then(
    ({ size }) => size,
    () => 0,
  );
  const gateway = createGatewayProcess({
    name,
    dataDir,
    logFile,
    root,
    env: {
      LOG_LEVEL: "info",
      PORT: "0",
      INTERNAL_PORT: "0",
      PLANE_PORT: "0",
      // Runs the gateway in a single process, which suites kill and watch.
      WORKERS: "1",
      // Stops without a delay, because no balancer needs time to notice it.
      DRAIN_DELAY_S: "0",
      KEY_PEPPER: TEST_KEY_PEPPER,
      ...findDatabase(dataDir),
      ...env,
    },
    async ready() {
      const said = (await gateway.log()).slice(logBytes);
      ports = /"port":(\d+),"internalPort":(\d+),"msg":"serving"/.exec(said);
      return ports !== null;
    },
  });
  await gateway.start();
  const [, port, internalPort] = ports ?? [];
  return {
    ...gateway,
    baseUrl: `http://${env.HOST ?? "127.0.0.1"}:${port}`,
    internalPort: Number(internalPort),
    logFile,
    stop: () => gateway.end("SIGTERM"),
  };
}
