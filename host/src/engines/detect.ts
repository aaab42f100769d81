/** Finds engines that already run on this machine. Each is asked for something only it answers, and has little time. */
import { z } from "zod";
import { parseJson, readText } from "../http-body.ts";

const TIMEOUT_MS = 300;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

export interface FoundEngine {
  /** `ollama at 127.0.0.1:11434`. */
  name: string;
  url: string;
  /** The names of its models. */
  models: string[];
  /** How many requests it runs at once as it is usually set up; more would queue inside it and seem stalled. */
  slots: number;
  /** It can say how far it is with a long prompt. */
  tellsProgress: boolean;
}

export interface EngineAddresses {
  ollama: string;
  llamaServer: string;
  lmStudio: string;
  vllm: string;
}

export const usualAddresses = (env: { OLLAMA_HOST?: string | undefined }): EngineAddresses => ({
  ollama: ollamaAddress(env.OLLAMA_HOST) ?? "http://127.0.0.1:11434",
  llamaServer: "http://127.0.0.1:8080",
  lmStudio: "http://127.0.0.1:1234",
  vllm: "http://127.0.0.1:8000",
});

/** Every engine that answers, in a fixed order of preference. */
export async function findEngines(addresses: EngineAddresses): Promise<FoundEngine[]> {
  const found = await Promise.all([
    ollama(addresses.ollama),
    llamaServer(addresses.llamaServer),
    lmStudio(addresses.lmStudio),
    vllm(addresses.vllm),
  ]);
  return found.filter((engine) => engine !== undefined);
}

const OllamaTags = z.object({ models: z.array(z.object({ name: z.string() })) });
const LlamaProps = z.object({
  default_generation_settings: z.unknown(),
  total_slots: z.int().min(1).max(1024).optional(),
});
const ModelList = z.object({ data: z.array(z.object({ id: z.string(), owned_by: z.string().optional() })) });
const Version = z.object({ version: z.string() });

async function ollama(url: string): Promise<FoundEngine | undefined> {
  const tags = await get(`${url}/api/tags`, OllamaTags);
  return tags && found("ollama", url, { models: tags.json.models.map((model) => model.name), slots: 1 });
}

async function llamaServer(url: string): Promise<FoundEngine | undefined> {
  const [props, list] = await Promise.all([get(`${url}/props`, LlamaProps), get(`${url}/v1/models`, ModelList)]);
  const itself = props !== undefined || list?.server.startsWith("llama.cpp");
  if (!itself || list === undefined) return undefined;
  return found("llama-server", url, {
    models: ids(list.json),
    slots: props?.json.total_slots ?? 1,
    tellsProgress: true,
  });
}

async function lmStudio(url: string): Promise<FoundEngine | undefined> {
  const list = (await get(`${url}/api/v0/models`, ModelList)) ?? (await get(`${url}/v1/models`, ModelList));
  return list && found("LM Studio", url, { models: ids(list.json), slots: 1 });
}

async function vllm(url: string): Promise<FoundEngine | undefined> {
  const [list, version] = await Promise.all([get(`${url}/v1/models`, ModelList), get(`${url}/version`, Version)]);
  const itself = version !== undefined || list?.json.data.some((model) => model.owned_by === "vllm");
  return itself && list ? found("vLLM", url, { models: ids(list.json), slots: 8 }) : undefined;
}

/** The models of an engine that was named, whatever it is. */
export async function listModels(
  apiUrl: string,
  options: { apiKey?: string | undefined; timeoutMs: number },
): Promise<string[] | undefined> {
  const list = await get(`${apiUrl}/models`, ModelList, options);
  return list && ids(list.json);
}

const ids = (list: z.infer<typeof ModelList>): string[] => list.data.map((model) => model.id);

type Traits = Pick<FoundEngine, "models" | "slots"> & { tellsProgress?: boolean };

function found(kind: string, url: string, traits: Traits): FoundEngine {
  return { name: `${kind} at ${new URL(url).host}`, url, tellsProgress: false, ...traits };
}

interface Answer<T> {
  json: T;
  server: string;
}

/** Undefined when nobody answers in time, or not in the form that was asked for. */
async function get<T>(
  url: string,
  schema: z.ZodType<T>,
  options: { apiKey?: string | undefined; timeoutMs?: number } = {},
): Promise<Answer<T> | undefined> {
  try {
    const response = await fetch(url, {
      redirect: "error",
      signal: AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS),
      ...(options.apiKey === undefined ? {} : { headers: { authorization: `Bearer ${options.apiKey}` } }),
    });
    const text = await readText(response, ANSWER_BYTES_MAX);
    if (!response.ok || isTollgate(response)) return undefined;
    const result = schema.safeParse(parseJson(text));
    return result.success ? { json: result.data, server: response.headers.get("server") ?? "" } : undefined;
  } catch {
    return undefined; // Nothing listens there, or it is slow or something else: no engine for us.
  }
}

/** Our own gateway answers on one of these ports too, and would dispatch to us what we sent it. */
const isTollgate = (response: Response): boolean => response.headers.get("x-request-id")?.startsWith("req_") ?? false;

/** What `OLLAMA_HOST` says, if it means this machine. */
function ollamaAddress(host: string | undefined): string | undefined {
  if (host === undefined || host === "") return undefined;
  const text = /^https?:\/\//.test(host) ? host : `http://${host}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return undefined;
  // A server told to listen on every address is reached on the loopback one.
  const name = url.hostname === "0.0.0.0" ? "127.0.0.1" : url.hostname;
  const loopback = name === "localhost" || name === "[::1]" || name.startsWith("127.");
  const port = /:\d+\/?$/.test(text) ? url.port || "80" : "11434";
  return loopback ? `${url.protocol}//${name}:${port}` : undefined;
}
