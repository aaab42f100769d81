/** The agent's own engine, llama.cpp inside its process: with a model file of the host, and with the demo model. */
import { readFileSync } from "node:fs";
import type { EngineUnderTest } from "../engine-under-test.ts";

const { optionalDependencies } = JSON.parse(
  readFileSync(new URL("../../host/package.json", import.meta.url), "utf8"),
) as {
  optionalDependencies: Record<"node-llama-cpp", string>;
};
const version = optionalDependencies["node-llama-cpp"];
const INSTALLED = async (): Promise<undefined> => undefined;

export const ggufFileEngine: EngineUnderTest = {
  id: "gguf",
  title: "GGUF file in the agent",
  version: `node-llama-cpp ${version}`,
  install: INSTALLED,
  known: /\.gguf$/,
  elect: ({ gguf }) => ["--model", gguf, "--as", "tiny-3b", "--slots", "2"],
  slots: 2,
  cannot: { embeddings: "one file serves one model" },
};

export const demoEngine: EngineUnderTest = {
  id: "demo",
  title: "demo model in the agent",
  version: `node-llama-cpp ${version}`,
  install: INSTALLED,
  known: /^demo model$/,
  elect: () => ["--engine", "demo", "--models", "tiny-3b,embed-m3", "--slots", "2"],
  slots: 2,
  embeds: { model: "embed-m3", width: 1024 },
  contextTokens: 2048,
  endsItself: true,
  cannot: {},
};
