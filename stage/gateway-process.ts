/** A gateway as a process: `tollgate serve`, as an operator runs it. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { databaseOf, openDatabase, PEPPER } from "./database.ts";
import { eventually } from "./wait.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

export interface GatewayProcess {
  baseUrl: string;
  internalPort: number;
  process: ChildProcess;
  logFile: string;
  /** SIGTERM; its exit code once it has ended. */
  stop(): Promise<number | null>;
}

/** Runs `tollgate serve` until it serves, of these sources or of others. Its log goes to a file, as an operator's would. */
export async function serve(
  dataDir: string,
  env: Record<string, string>,
  name = "gateway",
  root = ROOT,
): Promise<GatewayProcess> {
  const logFile = join(dataDir, `${name}.log`);
  const log = openSync(logFile, "a", 0o600);
  if (env.DATABASE_URL === undefined) await openDatabase(dataDir);
  const child = spawn(process.execPath, ["--max-semi-space-size=16", join(root, "gateway/bin/tollgate.mjs"), "serve"], {
    stdio: ["ignore", log, log],
    env: {
      ...process.env,
      LOG_LEVEL: "info",
      PORT: "0",
      INTERNAL_PORT: "0",
      PLANE_PORT: "0",
      // No balancer has to notice that it stops.
      DRAIN_DELAY_S: "0",
      DATA_DIR: dataDir,
      KEY_PEPPER: PEPPER,
      ...databaseOf(dataDir),
      ...env,
    },
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const found = await eventually("the gateway serves", async () => {
    const text = await readFile(logFile, "utf8");
    const line = /"port":(\d+),"internalPort":(\d+),"msg":"serving"/.exec(text);
    if (line === null && child.exitCode !== null) throw new Error(`the gateway ended before it served:\n${text}`);
    return line ?? undefined;
  });
  return {
    baseUrl: `http://${env.HOST ?? "127.0.0.1"}:${found[1]}`,
    internalPort: Number(found[2]),
    process: child,
    logFile,
    async stop() {
      child.kill("SIGTERM");
      return await ended;
    },
  };
}
