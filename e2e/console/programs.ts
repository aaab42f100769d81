/** Runs programs that a page shows, as a user would run them beside the browser. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Platform } from "@tollgate/stage/dev.ts";

export const TOLLGATE = fileURLToPath(new URL("../../gateway/bin/tollgate.mjs", import.meta.url));
const TOLLGATE_HOST = fileURLToPath(new URL("../../host/bin/tollgate-host.mjs", import.meta.url));

/** Returns the program's output; on failure, shows its error output. */
export function run(program: string, args: string[], input = ""): string {
  const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: "utf8", cwd: import.meta.dirname });
  assert.equal(status, 0, stderr);
  return stdout;
}

/**
 * Starts a `tollgate-host` command line as a shell would, with its own configuration. The token is passed where a user
 * would paste it.
 */
export function startHostCommand({ dataDir }: Pick<Platform, "dataDir">, line: string, token: string): ChildProcess {
  const [program, ...args] = line.split(" ");
  assert.equal(program, "tollgate-host");
  return spawn(process.execPath, [TOLLGATE_HOST, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, XDG_CONFIG_HOME: join(dataDir, "config"), TOLLGATE_HOST_TOKEN: token },
  });
}

/** Runs such a command line to its end. Returns its exit code and everything that it printed. */
export async function runHostCommand(
  platform: Pick<Platform, "dataDir">,
  line: string,
  token: string,
): Promise<{ code: number | null; said: string }> {
  const child = startHostCommand(platform, line, token);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  }
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, said };
}
