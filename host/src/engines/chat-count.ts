/** An HTTP engine's own token count of a chat, sent to it like a job. */
import { z } from "zod";
import { parseJson } from "../http-body.ts";
import type { ChatMessage } from "./engine.ts";
import type { EngineHttp } from "./engine-http.ts";
import { contextTokensOf } from "./model-requirements.ts";
import type { EngineProfile } from "./profiles/profile.ts";

const ANSWER_BYTES_MAX = 1024 * 1024;

/** Ollama's format, and the common one. */
const Counted = z.object({
  prompt_eval_count: z.int().positive().optional(),
  usage: z.object({ prompt_tokens: z.int().positive() }).nullish(),
});

interface Asked {
  http: EngineHttp;
  profile: EngineProfile;
  /** The model's name in the catalogue, and in the engine. */
  model: string;
  name: string;
  messages: ChatMessage[];
}

/** Undefined if the engine does not report it. Generates one token. Throws EngineError like a job. */
export async function countChat(asked: Asked, signal: AbortSignal): Promise<number | undefined> {
  const { http, profile, model, name, messages } = asked;
  const job = { id: "", attempt: 1, model, endpoint: "chat" as const, input: { messages }, sampling: {} };
  // With a job's context size, so that the engine does not reload the model.
  const request = profile.dialect.generation({ ...job, outputTokensMax: 1 }, name, contextTokensOf(model));
  const text = await http.postForText(request.path, { ...request.body, stream: false }, signal, ANSWER_BYTES_MAX);
  const counted = Counted.safeParse(parseJson(text));
  return counted.data?.prompt_eval_count ?? counted.data?.usage?.prompt_tokens;
}
