/** Runs the commands that a page shows, as a user would run them beside the browser. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Platform } from "@tollgate/stage/dev-platform.ts";

export const TOLLGATE_PROGRAM = fileURLToPath(new URL("../../gateway/bin/tollgate.mjs", import.meta.url));
const TOLLGATE_HOST = fileURLToPath(new URL("../../host/bin/tollgate-host.mjs", import.meta.url));

/** Runs a program and returns its output. If the program fails, the assertion shows its error output. */
export function runProgram(program: string, args: string[], input = ""): string {
  const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: "utf8", cwd: import.meta.dirname });
  assert.equal(status, 0, stderr);
  return stdout;
}

/**
 * Starts a `tollgate-host` command line as a shell would, with a configuration folder of its own. The token is in the
 * environment; a user would paste it.
 */
export function startHostCommand({ dataDir }: Pick<Platform, "dataDir">, line: string, token: string): ChildProcess {
  const [program, ...args] = line.split(" ");
  assert.equal(program, "tollgate-host");
  return spawn(process.execPath, [TOLLGATE_HOST, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, XDG_CONFIG_HOME: join(dataDir, "config"), TOLLGATE_HOST_TOKEN: token },
  });
}

/** Runs a `tollgate-host` command line to its end. Returns its exit code and all output. */
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
