/** Runs `tollgate admin …` commands with the gateways' settings, as an operator does. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { makeMinimalEnvironment } from "@tollgate/stage/killable-process.ts";

interface Ran {
  code: number | null;
  output: string;
}

export type RunAdmin = (args: string[], input?: string) => Promise<Ran>;

export function createAdminRunner(settings: Record<string, string>, root: () => string): RunAdmin {
  return async (args, input = "") => {
    const child = spawn(process.execPath, [join(root(), "gateway/bin/tollgate.mjs"), "admin", ...args], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...makeMinimalEnvironment(), ...settings },
    });
    child.stdin.end(input);
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    return { code: code as number | null, output: output + errors };
  };
}

/** Runs a command and returns its JSON. Throws if the command fails. */
export async function runAdminJson<T>(admin: RunAdmin, args: string[], input?: string): Promise<T> {
  const { code, output } = await admin([...args, "--json"], input);
  if (code !== 0) throw new Error(`tollgate admin ${args.slice(0, 2).join(" ")} failed: ${output}`);
  return JSON.parse(output) as T;
}
