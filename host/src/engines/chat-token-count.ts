/** Gets an HTTP engine's own token count of a chat, by sending the chat to the engine as a job would. */
import { z } from "zod";
import { parseJson } from "../read-response-body.ts";
import type { ChatMessage } from "./engine.ts";
import type { EngineHttp } from "./engine-http.ts";
import { findContextTokens } from "./model-requirements.ts";
import type { EngineProfile } from "./profiles/engine-profile.ts";

const ANSWER_BYTES_MAX = 1024 * 1024;

/** The token counts in Ollama's format, and in the format of the OpenAI API. */
const Counted = z.object({
  prompt_eval_count: z.int().positive().optional(),
  usage: z.object({ prompt_tokens: z.int().positive() }).nullish(),
});

interface Asked {
  http: EngineHttp;
  profile: EngineProfile;
  /** The model's name in the catalogue, and its name in the engine. */
  model: string;
  name: string;
  messages: ChatMessage[];
}

/**
 * Returns undefined if the engine does not report the count. The engine generates one token. Throws EngineError as a
 * job does.
 */
export async function countChatTokens(asked: Asked, signal: AbortSignal): Promise<number | undefined> {
  const { http, profile, model, name, messages } = asked;
  const job = { id: "", attempt: 1, model, endpoint: "chat" as const, input: { messages }, sampling: {} };
  // The same context size as for a job, so that the engine does not reload the model.
  const request = profile.dialect.generation({ ...job, outputTokensMax: 1 }, name, findContextTokens(model));
  const text = await http.postForText(request.path, { ...request.body, stream: false }, signal, ANSWER_BYTES_MAX);
  const counted = Counted.safeParse(parseJson(text));
  return counted.data?.prompt_eval_count ?? counted.data?.usage?.prompt_tokens;
}
