/** Runs a command and returns its output and exit status. */
import { spawn } from "node:child_process";

/**
 * The timeout in milliseconds for a command that hangs. It is long, because some commands download gigabytes or compile
 * for almost an hour.
 */
const HANG_LIMIT_MS = 2 * 60 * 60_000;

interface Said {
  code: number;
  output: string;
}

export async function runCommand(
  command: string,
  args: string[],
  { env = {} }: { env?: Record<string, string> } = {},
): Promise<Said> {
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
    timeout: HANG_LIMIT_MS,
    killSignal: "SIGKILL",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  return await new Promise((resolve) => {
    child.once("error", (error) => resolve({ code: 1, output: error.message }));
    child.once("close", (code, signal) =>
      resolve({ code: code ?? 1, output: signal === null ? output : `${output}\nended by ${signal}` }),
    );
  });
}

/** Returns the line of the output that best explains the failure. */
export function failureReason({ output }: Said): string {
  const lines = output
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  return (
    lines.findLast((line) => /error|not found|no such|no solution|cannot|ended by/i.test(line)) ??
    lines.at(-1) ??
    "no reason given"
  );
}
