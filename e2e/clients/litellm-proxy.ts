/**
 * Runs LiteLLM as a proxy with the configuration in examples/, and tests it through the official OpenAI package. The
 * proxy gets its gateway key when it starts.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { ANSWER_CHECKS } from "./answer-checks.ts";
import type { Client, ClientConnection } from "./client-interface.ts";
import { installPackages, installProgram } from "./install-clients.ts";
import type { Program, ProgramChecks, ProgramWithOwnChecks } from "./program-interface.ts";
import { type StartedServer, startServer } from "./start-server.ts";

const CONFIG = fileURLToPath(new URL("../../examples/litellm/config.yaml", import.meta.url));
const ASKED = ["chat", "stream", "usage", "reasoning", "embeddings", "structured"];
const LISTED = ["embed-m3", "mid-14b", "reason-32b", "small-7b-alt", "small-8b", "tiny-3b"];

export async function loadLitellmProxy(traits: Program["traits"]): Promise<ProgramWithOwnChecks | { missing: string }> {
  const made = await installProgram("litellm");
  if ("missing" in made) return made;
  const missing = await installPackages();
  if (missing !== undefined) return { missing };
  const sdk = (await (
    await import(new URL("adapters/openai.mjs", import.meta.url).href)
  ).load("openai")) as Required<Client>;
  let server: StartedServer | undefined;
  return {
    checks: async (world) => {
      const masterKey = `sk-${randomBytes(32).toString("hex")}`;
      server = await start(made.interpreter, world.connection(), masterKey);
      const at: ClientConnection = { baseURL: `${server.address}/v1`, apiKey: masterKey, maxRetries: 0 };
      const subject = { client: sdk, traits, world: { ...world, connection: () => at }, note: () => {} };
      const checks: ProgramChecks = {};
      for (const { column, check } of ANSWER_CHECKS) if (ASKED.includes(column)) checks[column] = () => check(subject);
      checks.models = async () => {
        assert.deepEqual((await sdk.models(at)).sort(), LISTED);
        return undefined;
      };
      return checks;
    },
    close: async () => server?.close(),
  };
}

const start = (interpreter: string, { baseURL, apiKey }: ClientConnection, masterKey: string): Promise<StartedServer> =>
  startServer({
    name: "the LiteLLM proxy",
    command: (port) => [
      ...[interpreter, "-m", "litellm.proxy.proxy_cli"],
      ...["--config", CONFIG, "--host", "127.0.0.1", "--port", String(port)],
    ],
    env: () => ({
      OPENAI_BASE_URL: baseURL,
      OPENAI_API_KEY: apiKey,
      LITELLM_MASTER_KEY: masterKey,
      // Uses the bundled list of model prices. By default LiteLLM downloads it.
      LITELLM_LOCAL_MODEL_COST_MAP: "True",
    }),
    health: "/health/liveliness",
  });
