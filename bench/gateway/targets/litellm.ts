/**
 * LiteLLM's proxy with one worker. Virtual keys and their budgets need a database and Prisma's engines, which no
 * package registry has. So it is measured with one key, and with budgets for the model and the provider that are
 * counted in memory.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { buildBinaryOnce, cacheFolder } from "../../../tools/go-builds.ts";
import { pipInstall } from "../../../tools/python-tools.ts";
import { BenchProcess } from "../bench-process.ts";
import { FAKE_MODEL } from "../fake-engine.ts";
import { createRelayTarget, type StartTarget, TargetUnavailable } from "./target.ts";

const VERSION = "1.106.0";
const REQUIREMENTS = fileURLToPath(new URL("../peers/litellm/requirements.txt", import.meta.url));
const FOLDER = join(cacheFolder("peers"), `litellm-${VERSION}`);
const KEY = "sk-bench";
/**
 * How long to wait for LiteLLM to start: it imports hundreds of modules, which takes almost a minute on a busy machine.
 */
const READY_WITHIN_MS = 240_000;

export const litellm: StartTarget = async ({ engine, processors, outDir }) => {
  const why = await buildBinaryOnce(FOLDER, "tool", (folder) => pipInstall(["--no-deps", "-r", REQUIREMENTS], folder));
  if (why !== undefined) throw new TargetUnavailable(why);
  const home = join(outDir, "litellm");
  await mkdir(home, { recursive: true });
  const config = join(home, "config.json");
  await writeFile(config, JSON.stringify(configuration(engine.url)));
  const port = await findFreePort();
  const child = new BenchProcess({
    name: "litellm",
    command: [
      "python3",
      join(FOLDER, "bin/litellm"),
      "--config",
      config,
      "--host",
      "127.0.0.1",
      "--port",
      String(port),
    ],
    processors: processors.measured,
    outDir,
    cwd: home,
    env: {
      PYTHONPATH: FOLDER,
      LITELLM_LOG: "ERROR",
      // Without these settings LiteLLM would fetch prices from the network and send telemetry.
      LITELLM_LOCAL_MODEL_COST_MAP: "True",
      LITELLM_TELEMETRY: "False",
    },
  });
  await child.eventually(() => isAlive(port), READY_WITHIN_MS);
  return createRelayTarget("litellm", child, {
    port,
    version: VERSION,
    headers: { authorization: `Bearer ${KEY}` },
    withChildren: true,
  });
};

/** LiteLLM reads YAML, and JSON is valid YAML. */
function configuration(engineUrl: string): object {
  const budget = { budget_limit: 1_000_000, time_period: "30d" };
  const prices = { input_cost_per_token: 1e-7, output_cost_per_token: 1e-7 };
  return {
    model_list: [
      {
        model_name: FAKE_MODEL,
        litellm_params: {
          model: `openai/${FAKE_MODEL}`,
          api_base: `${engineUrl}/v1`,
          api_key: "none",
          ...prices,
          max_budget: budget.budget_limit,
          budget_duration: budget.time_period,
        },
      },
    ],
    general_settings: { master_key: KEY },
    router_settings: { provider_budget_config: { openai: budget }, num_retries: 0 },
  };
}

async function isAlive(port: number): Promise<true | undefined> {
  try {
    const { ok } = await fetch(`http://127.0.0.1:${port}/health/liveliness`);
    return ok || undefined;
  } catch {
    // LiteLLM does not listen yet.
    return undefined;
  }
}
