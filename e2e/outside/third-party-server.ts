/** Runs a third-party server (see tools/third-party-programs.ts) for a suite. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type ThirdPartyProgram, thirdPartyBinary } from "../../tools/third-party-programs.ts";

interface ThirdPartyServer {
  /** The match of `ready` in the server's output, for example with the port. */
  found: RegExpExecArray;
  stop(): Promise<void>;
}

/** Starts the server. Resolves once its output matches `ready`. */
export async function startThirdPartyServer(
  name: ThirdPartyProgram,
  args: string[],
  ready: RegExp,
): Promise<ThirdPartyServer> {
  const child = spawn(thirdPartyBinary(name) as string, args, { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close");
  // Kills the server however the test process ends.
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  let output = "";
  const found = await new Promise<RegExpExecArray>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        const match = ready.exec(output);
        if (match !== null) resolve(match);
      });
    }
    ended.then(() => reject(new Error(`${name} ended before it was ready:\n${output}`)), reject);
  });
  return {
    found,
    async stop() {
      process.removeListener("exit", kill);
      kill();
      await ended;
    },
  };
}
