/** Server-sent event streams of stub engines that follow the OpenAI API. The engines differ in a few fields. */
import type { ServerResponse } from "node:http";
import type { StubEngine } from "./stub-engine.ts";

interface SseTraits {
  /** The name of the engine's field for thinking. */
  thinking: "reasoning_content" | "reasoning";
  /** Fields that every chunk contains. */
  common: Record<string, unknown>;
  headers?: Record<string, string>;
  /** Whether the first chunk contains only the role, without text. */
  opens: boolean;
}

export async function streamCompletion(
  stub: StubEngine,
  response: ServerResponse,
  { path, body }: { path: string; body: Record<string, unknown> },
  traits: SseTraits,
  before: (response: ServerResponse) => void = () => {},
): Promise<void> {
  const chat = path.includes("chat");
  const event = (choice: object, more: object = {}): string => {
    const object = chat ? "chat.completion.chunk" : "text_completion";
    return `data: ${JSON.stringify({ id: "x-1", object, created: 1, ...traits.common, choices: [{ index: 0, ...choice }], ...more })}\n\n`;
  };
  response.writeHead(200, { "content-type": "text/event-stream", ...traits.headers });
  before(response);
  if (chat && traits.opens) response.write(event({ delta: { role: "assistant", content: "" }, finish_reason: null }));
  await stub.speak(response, body, (kind, word) => {
    if (!chat) return event({ text: word, logprobs: null, finish_reason: null });
    return event({ delta: { [kind === "answer" ? "content" : traits.thinking]: word }, finish_reason: null });
  });
  const last = chat ? { delta: {} } : { text: "" };
  response.write(
    event({ ...last, finish_reason: stub.finish }, { usage: { prompt_tokens: 1, completion_tokens: 9e9 } }),
  );
  response.end("data: [DONE]\n\n");
}

/** Embeddings in the format of the OpenAI API. */
export const makeEmbeddingList = (stub: StubEngine, model: unknown, input: string[]): object => ({
  object: "list",
  model,
  data: input.map((text, index) => ({ object: "embedding", index, embedding: stub.vector(text) })),
  usage: { prompt_tokens: 1, total_tokens: 1 },
});
