/** The command line of a host: `tollgate-host <command>`. */
import { readFileSync } from "node:fs";
import { UP_USAGE, UsageError } from "./command/flags.ts";
import { lifelineOf } from "./command/lifeline.ts";
import { up } from "./command/up.ts";

const COMMANDS = ["up"];

/** Runs one command and returns the process's exit code. */
export async function run(args: string[]): Promise<number> {
  const [command, ...rest] = args;
  const wantsHelp = (text: string | undefined): boolean => text === "help" || text === "--help" || text === "-h";
  if (command === undefined || wantsHelp(command) || rest.some(wantsHelp)) {
    console.log(UP_USAGE);
    return command === undefined ? 1 : 0;
  }
  const lifeline = lifelineOf(process);
  try {
    if (command !== "up") throw new UsageError([`there is no command ${command}; there is: ${COMMANDS.join(", ")}`]);
    await up(rest, { env: process.env, version: version(), print: console.log, lifeline });
    return 0;
  } catch (error) {
    const lines = complaints(error);
    for (const line of lines) console.error(`tollgate-host: ${line}`);
    await lifeline.tell({ type: "failed", message: lines.join("; ") });
    return 1;
  }
}

function complaints(error: unknown): string[] {
  if (error instanceof UsageError) return error.mistakes;
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? ` (${error.code})` : "";
  return [`${message.split("\n")[0]}${code}`];
}

function version(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return `tollgate-host/${manifest.version}`;
}
