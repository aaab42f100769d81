/** The clients under test, how each is started, and its known flaws. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { loadAider } from "./aider.ts";
import { type AdapterBuildResult, buildGoAdapter, buildJavaAdapter } from "./build-adapters.ts";
import type { Client, ClientTraits } from "./client-interface.ts";
import {
  installPackages,
  installProgram,
  installPython,
  type PythonInstallation,
  readPinnedPythonVersion,
  readPinnedVersions,
} from "./install-clients.ts";
import { loadLitellmProxy } from "./litellm-proxy.ts";
import { loadOpenWebUi } from "./open-webui.ts";
import { startProcessClient } from "./process-client.ts";
import type { Program } from "./program-interface.ts";

const npmVersion = await readPinnedVersions();

const npm = (id: string, adapter: string, packageName: string, traits: Partial<ClientTraits> = {}): Program => ({
  id,
  name: packageName.replace(/-v\d$/, ""),
  version: npmVersion(packageName),
  inTests: true,
  traits: { streamRaises: "APIError", ...traits },
  load: async () => {
    const missing = await installPackages();
    if (missing !== undefined) return { missing };
    // The module's name is computed, so that the type check and the linter pass without the packages.
    return (await import(new URL(`adapters/${adapter}.mjs`, import.meta.url).href)).load(packageName);
  },
});

async function python(
  id: string,
  adapter: string,
  packageName: string,
  traits: Partial<ClientTraits> = {},
): Promise<Program> {
  return {
    id,
    name: `${packageName.replace(/-slim$/, "")} for Python`,
    version: await readPinnedPythonVersion(packageName, `python/${id.replace(/-py$/, "")}.txt`),
    inTests: false,
    traits: { streamRaises: "APIError", ...traits },
    load: async () => fromPython(await installProgram(id.replace(/-py$/, "")), adapter),
  };
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const fromPython = async (made: PythonInstallation, adapter: string): Promise<Client | { missing: string }> =>
  "missing" in made ? made : startProcessClient(made.interpreter, [here(`adapters/${adapter}.py`)]);

/** Describes a client in Go or Java. `pin` finds its version in the file that pins it. */
async function compiled(
  id: string,
  name: string,
  { build, file, pin }: { build: () => Promise<AdapterBuildResult>; file: string; pin: RegExp },
  traits: ClientTraits,
): Promise<Program> {
  return {
    id,
    name,
    version: pin.exec(await readFile(here(file), "utf8"))?.[1] ?? "",
    inTests: false,
    traits,
    load: async () => {
      const built = await build();
      return "missing" in built ? built : startProcessClient(built.program, [...built.args, id]);
    },
  };
}

const go = (module: string) => ({
  build: buildGoAdapter,
  file: "go/go.mod",
  pin: new RegExp(`\\b${module}(?:/v\\d+)? v(\\S+)`),
});
const java = (artifact: string) => ({
  build: buildJavaAdapter,
  file: "java/pom.xml",
  pin: new RegExp(`<artifactId>${artifact}</artifactId>\\s*<version>(.*)</version>`),
});

const aiSdk = { streamRaises: "AI_StreamProviderError", repeatsBilled: true, isAiSdk: true } as const;

export const PROGRAMS: Program[] = [
  npm("openai", "openai", "openai"),
  npm("openai-v6", "openai", "openai-v6"),
  npm("openai-v5", "openai", "openai-v5"),
  npm("openai-v4", "openai", "openai-v4"),
  npm("ai-sdk", "ai-sdk", "@ai-sdk/openai", aiSdk),
  npm("ai-sdk-compatible", "ai-sdk", "@ai-sdk/openai-compatible", aiSdk),
  npm("langchain", "langchain", "@langchain/openai", { repeatsBilled: true, contextRaises: "ContextOverflowError" }),
  npm("llamaindex", "llamaindex", "@llamaindex/openai", { runsOn: true }),
  {
    id: "openai-py",
    name: "openai for Python",
    version: await readPinnedPythonVersion("openai"),
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
  await python("pydantic-ai-py", "with_pydantic_ai", "pydantic-ai-slim", {
    streamRaises: "ModelAPIError",
    contextRaises: "ModelContextWindowExceededError",
  }),
  await python("instructor-py", "with_instructor", "instructor"),
  await python("openai-agents-py", "with_openai_agents", "openai-agents"),
  await compiled("openai-go", "openai-go", go("github.com/openai/openai-go"), {
    streamRaises: "*ssestream.StreamError",
  }),
  await compiled("langchaingo", "langchaingo", go("github.com/tmc/langchaingo"), {
    streamRaises: "*fmt.wrapError",
    ignoresErrorEvent: true,
    losesCode: true,
    neverRetries: true,
    losesBounds: true,
  }),
  await compiled("openai-java", "openai-java", java("openai-java"), { streamRaises: "SseException" }),
  await compiled("langchain4j", "LangChain4j", java("langchain4j-open-ai"), {
    streamRaises: "LangChain4jException",
    ignoresErrorEvent: true,
    repeatsBilled: true,
  }),
  {
    id: "litellm-proxy",
    name: "LiteLLM proxy",
    version: await readPinnedPythonVersion("litellm", "python/litellm.txt"),
    inTests: false,
    traits: { streamRaises: "APIError" },
    load: () => loadLitellmProxy({ streamRaises: "APIError" }),
  },
  {
    id: "aider",
    name: "aider",
    version: await readPinnedPythonVersion("aider-chat", "python/aider.txt"),
    inTests: false,
    traits: { streamRaises: "" },
    load: loadAider,
  },
  {
    id: "open-webui",
    name: "Open WebUI",
    version: await readPinnedPythonVersion("open-webui", "python/open-webui.txt"),
    inTests: false,
    // Open WebUI does not pass on `x-should-retry`, so an SDK that calls it repeats billed requests.
    traits: { streamRaises: "APIError", repeatsBilled: true },
    load: loadOpenWebUi,
  },
];
