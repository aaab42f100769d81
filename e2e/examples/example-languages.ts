/** Describes how the examples of each language are run. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ReadyFile } from "@tollgate/stage/dev-platform.ts";
import type { PythonInstallation } from "../clients/install-clients.ts";

export interface Language {
  name: string;
  /** Why the language cannot run here; undefined if it can. */
  missing: string | undefined;
  command: string[];
  folder: string;
  ending: string;
}

const at = (path: string): string => fileURLToPath(new URL(`../../examples/${path}`, import.meta.url));

export function listLanguages(python: PythonInstallation): Language[] {
  return [
    { name: "TypeScript", missing: undefined, command: [process.execPath], folder: at("typescript"), ending: ".ts" },
    {
      name: "Python",
      missing: "missing" in python ? python.missing : undefined,
      command: ["interpreter" in python ? python.interpreter : ""],
      folder: at("python"),
      ending: ".py",
    },
  ];
}

interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs an example with the gateway's URL and a key in its environment. */
export async function runExample(
  [command = "", ...first]: string[],
  args: string[],
  { gateway_url, api_key }: Pick<ReadyFile, "gateway_url" | "api_key">,
  env: Record<string, string> = {},
): Promise<Ran> {
  const child = spawn(command, [...first, ...args], {
    env: {
      ...process.env,
      OPENAI_BASE_URL: `${gateway_url}/v1`,
      OPENAI_API_KEY: api_key,
      NO_PROXY: "127.0.0.1",
      PYTHONDONTWRITEBYTECODE: "1",
      ...env,
    },
  });
  const ran = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      ran[name] += text;
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, ...ran };
}
