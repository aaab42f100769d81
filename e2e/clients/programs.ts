/** The clients, what each needs to be driven, and its traps. */
import { aider } from "./aider.ts";
import type { Client, Traits } from "./client.ts";
import {
  installPackages,
  installProgram,
  installPython,
  type Python,
  pinnedPython,
  pinnedVersions,
} from "./install.ts";
import { litellmProxy } from "./litellm-proxy.ts";
import { openWebUi } from "./open-webui.ts";
import type { Program } from "./program.ts";
import { pythonClient } from "./python.ts";

const npmVersion = await pinnedVersions();

const npm = (id: string, adapter: string, packageName: string, traits: Partial<Traits> = {}): Program => ({
  id,
  name: packageName.replace(/-v\d$/, ""),
  version: npmVersion(packageName),
  inTests: true,
  traits: { streamRaises: "APIError", ...traits },
  load: async () => {
    const missing = await installPackages();
    if (missing !== undefined) return { missing };
    // Named at run time: types and lint have to pass where the packages are not installed.
    return (await import(new URL(`adapters/${adapter}.mjs`, import.meta.url).href)).load(packageName);
  },
});

async function python(
  id: string,
  adapter: string,
  packageName: string,
  traits: Partial<Traits> = {},
): Promise<Program> {
  return {
    id,
    name: `${packageName} for Python`,
    version: await pinnedPython(packageName, `python/${id.replace(/-py$/, "")}.txt`),
    inTests: false,
    traits: { streamRaises: "APIError", ...traits },
    load: async () => fromPython(await installProgram(id.replace(/-py$/, "")), adapter),
  };
}

const fromPython = (made: Python, adapter: string): Client | { missing: string } =>
  "missing" in made ? made : pythonClient(made.interpreter, adapter);

const aiSdk = { streamRaises: "AI_StreamProviderError", repeatsBilled: true, isAiSdk: true } as const;

export const programs: Program[] = [
  npm("openai", "openai", "openai"),
  npm("openai-v6", "openai", "openai-v6", { corruptsFloats: true }),
  npm("openai-v5", "openai", "openai-v5", { corruptsFloats: true }),
  npm("openai-v4", "openai", "openai-v4", { corruptsFloats: true }),
  npm("ai-sdk", "ai-sdk", "@ai-sdk/openai", aiSdk),
  npm("ai-sdk-compatible", "ai-sdk", "@ai-sdk/openai-compatible", aiSdk),
  npm("langchain", "langchain", "@langchain/openai", { repeatsBilled: true, contextRaises: "ContextOverflowError" }),
  npm("llamaindex", "llamaindex", "@llamaindex/openai", { corruptsFloats: true, runsOn: true }),
  {
    id: "openai-py",
    name: "openai for Python",
    version: await pinnedPython("openai"),
    inTests: true,
    traits: { streamRaises: "APIError" },
    load: async () => fromPython(await installPython(), "with_openai"),
  },
  await python("openai-v2-py", "with_openai", "openai"),
  await python("openai-v1-py", "with_openai", "openai"),
  await python("langchain-py", "with_langchain", "langchain-openai", { contextRaises: "OpenAIContextOverflowError" }),
  await python("llamaindex-py", "with_llamaindex", "llama-index-llms-openai-like", { runsOn: true }),
  await python("litellm-py", "with_litellm", "litellm", {
    streamRaises: "MidStreamFallbackError",
    contextRaises: "ContextWindowExceededError",
    losesCode: true,
    runsOn: true,
  }),
  {
    id: "litellm-proxy",
    name: "LiteLLM proxy",
    version: await pinnedPython("litellm", "python/litellm.txt"),
    inTests: false,
    traits: { streamRaises: "APIError" },
    load: () => litellmProxy({ streamRaises: "APIError" }),
  },
  {
    id: "aider",
    name: "aider",
    version: await pinnedPython("aider-chat", "python/aider.txt"),
    inTests: false,
    traits: { streamRaises: "" },
    load: aider,
  },
  {
    id: "open-webui",
    name: "Open WebUI",
    version: await pinnedPython("open-webui", "python/open-webui.txt"),
    inTests: false,
    // It does not hand on `x-should-retry`: who drives it by an SDK repeats what was billed.
    traits: { streamRaises: "APIError", repeatsBilled: true },
    load: openWebUi,
  },
];
