/**
 * The profile of mlx_lm.server. It reports its progress in reading a prompt as comments in its stream (`: keepalive
 * 512/2048`). It has no embeddings, no context limit and no output formats, and does not report its concurrency.
 * Requests with a seed run one at a time. It removes stop strings but continues the answer, unless the tokens match the
 * string's own tokens exactly. Its detokenizer drops a space before the first word, which only completions need.
 */
import { z } from "zod";
import type { EngineHttp } from "../engine-http.ts";
import { makeOpenAiDialect } from "../openai-wire.ts";
import type { EngineProfile, EngineReport, StreamEvent } from "./engine-profile.ts";

/** Python's HTTP server names itself in every response. No other known engine uses that server. */
const PYTHON_SERVER = /^BaseHTTP\//;

const Health = z.object({ status: z.literal("ok") });
const ModelList = z.object({ object: z.literal("list"), data: z.array(z.object({ id: z.string() })) });

async function inspect(http: EngineHttp): Promise<EngineReport | undefined> {
  const [health, list] = await Promise.all([http.ask("/health", Health), http.ask("/v1/models", ModelList)]);
  if (health === undefined || list === undefined) return undefined;
  if (!PYTHON_SERVER.test(health.headers.get("server") ?? "")) return undefined;
  const models = list.json.data.map(({ id }) => ({ name: id, contextTokens: undefined, loaded: undefined }));
  return { models, slots: undefined };
}

function readComment(comment: string): StreamEvent | undefined {
  const [, processed, total] = comment.match(/^\s*keepalive (\d+)\/(\d+)\s*$/) ?? [];
  if (processed === undefined || Number(total) === 0) return undefined;
  return { promptRead: Math.min(1, Number(processed) / Number(total)), promptTokens: Number(total) };
}

export const mlxProfile: EngineProfile = {
  kind: "MLX",
  usualAddress: "http://127.0.0.1:8080",
  healthPath: "/health",
  assumedSlots: 1,
  inspect,
  dialect: makeOpenAiDialect({}, { readComment }),
  caveats: ["MLX omits the space before the first word of a completion"],
};
