/**
 * Bifrost, a gateway with accounts: a virtual key has a budget, and the cost of the usage that the engine reports is
 * deducted in memory, with a copy to SQLite every ten seconds. As by default, every request is also logged in SQLite.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { buildBinaryOnce, cacheFolder, createPinnedGoBuild } from "../../../tools/go-builds.ts";
import { BenchProcess } from "../bench-process.ts";
import { FAKE_MODEL } from "../fake-engine.ts";
import { createRelayTarget, type StartTarget, TargetUnavailable, waitUntilListening } from "./target.ts";

const VERSION = "1.6.0";
const PINS = fileURLToPath(new URL("../peers/bifrost", import.meta.url));
const BINARY = join(cacheFolder("peers"), `bifrost-${VERSION}`);
/** Bifrost recognises its own keys by this prefix. */
const KEY = "sk-bf-bench";
const BUDGET_USD = 1_000_000;
const USD_PER_TOKEN = 1e-7;

export const bifrost: StartTarget = async ({ engine, processors, outDir }) => {
  const why = await buildBinaryOnce(BINARY, "bifrost", build);
  if (why !== undefined) throw new TargetUnavailable(why);
  const dataDir = mkdtempSync(join(tmpdir(), "tollgate-bench-"));
  const port = await findFreePort();
  writeFileSync(join(dataDir, "config.json"), JSON.stringify(configuration(dataDir, engine.url)));
  const child = new BenchProcess({
    name: "bifrost",
    command: [BINARY, "-host", "127.0.0.1", "-port", String(port), "-app-dir", dataDir, "-log-level", "warn"],
    processors: processors.measured,
    outDir,
    cwd: dataDir,
  });
  const stop = async (): Promise<void> => {
    await child.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    await waitUntilListening(child, port);
  } catch (error) {
    await stop();
    throw error;
  }
  const target = createRelayTarget("bifrost", child, {
    port,
    version: VERSION,
    headers: { authorization: `Bearer ${KEY}` },
  });
  const model = `openai/${FAKE_MODEL}`;
  return { ...target, address: { ...target.address, models: { chat: model, embedding: model } }, stop };
};

/**
 * The module does not contain the web pages, which the bench does not need. The OpenTelemetry exporter, which is off,
 * is removed because its version lacks a function that the server calls.
 */
const build = createPinnedGoBuild(
  { pins: PINS, module: "github.com/maximhq/bifrost/transports", command: "bifrost-http", binary: "bifrost" },
  (sources) => {
    mkdirSync(join(sources, "bifrost-http/ui"));
    writeFileSync(join(sources, "bifrost-http/ui/index.html"), "<!doctype html>");
    const server = join(sources, "bifrost-http/server/server.go");
    const [called, ignored] = ["otelPlugin.RecordHTTPMetrics(ctx,", "func(...any) {}(otelPlugin, ctx,"];
    const text = readFileSync(server, "utf8");
    if (!text.includes(called)) throw new Error("Bifrost does not call its exporter where it did");
    writeFileSync(server, text.replace(called, ignored));
  },
);

/** Prices and model capabilities come from files instead of the network. */
function configuration(dataDir: string, engineUrl: string): object {
  const file = (name: string, content: object): string => {
    const path = join(dataDir, name);
    writeFileSync(path, JSON.stringify(content));
    return pathToFileURL(path).href;
  };
  const price = { provider: "openai", input_cost_per_token: USD_PER_TOKEN, output_cost_per_token: USD_PER_TOKEN };
  const prices = {
    [`openai/${FAKE_MODEL}`]: { ...price, mode: "chat" },
    [FAKE_MODEL]: { ...price, mode: "embedding" },
  };
  return {
    config_store: { enabled: true, type: "sqlite", config: { path: join(dataDir, "config.db") } },
    framework: {
      pricing: { pricing_url: file("prices.json", prices), model_parameters_url: file("models.json", {}) },
    },
    client: { enforce_auth_on_inference: true },
    providers: {
      openai: {
        keys: [{ name: "engine", value: "none", models: ["*"], weight: 1 }],
        network_config: { base_url: engineUrl, max_retries: 0 },
      },
    },
    governance: {
      budgets: [{ id: "bench", max_limit: BUDGET_USD, reset_duration: "1M", virtual_key_id: "bench" }],
      virtual_keys: [
        {
          id: "bench",
          name: "bench",
          value: KEY,
          provider_configs: [{ provider: "openai", weight: 1, allowed_models: ["*"], key_ids: ["*"] }],
        },
      ],
    },
  };
}
