/**
 * Runs the coding assistant aider without a terminal on one file, and checks its edits and how it shows errors. aider
 * has no API, so the check reads its output.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { makeScriptPrompt } from "./client-check.ts";
import type { ClientConnection } from "./client-interface.ts";
import { installProgram } from "./install-clients.ts";
import type { ProgramWithOwnChecks } from "./program-interface.ts";

/**
 * `reminder: "sys"` sends the reminder of the edit format as a separate message: the scripted engine only accepts
 * instructions that are a whole message.
 */
const MODELS = JSON.stringify([
  {
    name: "openai/tiny-3b",
    edit_format: "whole",
    reminder: "sys",
    use_repo_map: false,
    extra_params: { max_tokens: 500 },
  },
]);
const METADATA = JSON.stringify({
  "openai/tiny-3b": {
    litellm_provider: "openai",
    mode: "chat",
    max_input_tokens: 8192,
    max_output_tokens: 8192,
    input_cost_per_token: 2e-8,
    output_cost_per_token: 4e-8,
  },
});
const FLAGS = [
  "--no-git",
  "--yes-always",
  "--no-pretty",
  "--no-check-update",
  "--no-show-release-notes",
  "--analytics-disable",
];
const QUIET = ["--no-show-model-warnings", "--no-gitignore", "--no-suggest-shell-commands", "--no-detect-urls"];

interface Ran {
  /** The file's content after the run. */
  file: string;
  said: string;
}

export async function loadAider(): Promise<{ missing: string } | ProgramWithOwnChecks> {
  const made = await installProgram("aider");
  if ("missing" in made) return made;
  const program = join(dirname(made.interpreter), "aider");
  const edit = makeScriptPrompt({ text: "hello.txt\n```\nnew words\n```\n" });
  const run = (at: ClientConnection, message: string, more: string[] = []) => runAider(program, at, message, more);
  const refused = async (at: ClientConnection, words: RegExp): Promise<string> => {
    const { file, said } = await run(at, edit);
    assert.match(said, words);
    assert.equal(file, "old words\n");
    return said;
  };
  const checks: ProgramWithOwnChecks["checks"] = async (world) => ({
    chat: async () => {
      const { file, said } = await run(world.connection(), edit, ["--no-stream"]);
      assert.equal(file, "new words\n", said);
      return undefined;
    },
    stream: async () => {
      const { file, said } = await run(world.connection(), edit);
      assert.equal(file, "new words\n", said);
      return undefined;
    },
    usage: async () => {
      const { said } = await run(world.connection(), edit);
      assert.match(said, /Tokens: [\d.k]+ sent, \d+ received\. Cost: \$[\d.]+/);
      return undefined;
    },
    "401": async () => void (await refused(world.unknown, /AuthenticationError.*\n?.*invalid_api_key|API key/)),
    "402": async () => {
      const said = await refused(world.empty, /balance is used up/);
      assert.ok((said.match(/Retrying in/g)?.length ?? 0) > 3, said);
      return "told, and asked again for about a minute: aider takes it for a passing failure";
    },
    "404": async () => {
      const { said } = await run(world.connection(), edit, ["--model", "openai/no-such"]);
      assert.match(said, /NotFoundError|does not exist/);
      return undefined;
    },
    "too long": async () => {
      const { said } = await run(world.connection(), "word ".repeat(9_000));
      assert.match(said, /token limit|context window|maximum context length/i);
      return undefined;
    },
    "429 again": async () => {
      const { at, free } = await world.occupied();
      const before = await world.requests("rate_limit_streams");
      const asked = run(at, edit);
      await Promise.race([world.untilRequests("rate_limit_streams", before + 1), asked]).finally(free);
      const { file, said } = await asked;
      assert.equal(file, "new words\n", said);
      return undefined;
    },
  });
  return { checks };
}

async function runAider(
  program: string,
  { baseURL, apiKey }: ClientConnection,
  message: string,
  more: string[],
): Promise<Ran> {
  const folder = await mkdtemp(join(tmpdir(), "tollgate-aider-"));
  const at = (name: string): string => join(folder, name);
  try {
    await writeFile(at("hello.txt"), "old words\n");
    await writeFile(at("models.yml"), MODELS);
    await writeFile(at("metadata.json"), METADATA);
    const settings = ["--model-settings-file", at("models.yml"), "--model-metadata-file", at("metadata.json")];
    const model = more.includes("--model") ? [] : ["--model", "openai/tiny-3b"];
    const args = [...FLAGS, ...QUIET, ...settings, ...model, ...more, "--message", message, "hello.txt"];
    const child = spawn(program, args, {
      cwd: folder,
      env: { ...process.env, HOME: folder, OPENAI_API_BASE: baseURL, OPENAI_API_KEY: apiKey, NO_PROXY: "127.0.0.1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
    }
    await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    return { file: await readFile(at("hello.txt"), "utf8"), said };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
