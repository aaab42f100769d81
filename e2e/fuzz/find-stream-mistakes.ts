/**
 * Checks a stream: every event is documented, all events have the same ID, and there are a finish reason, the requested
 * usage, and `[DONE]`.
 */
import { findSchemaMistakes } from "./api-schema-check.ts";
import type { ExpectedResponse, ReceivedResponse } from "./expected-response.ts";
import { parseJson } from "./raw-json.ts";
import { findUsageMistakes, type Usage } from "./token-usage.ts";

interface Chunk {
  id: string;
  model: string;
  choices: { finish_reason: string | null }[];
  usage?: Usage | null;
}

export function findStreamMistakes({ headers, text }: ReceivedResponse, expected: ExpectedResponse): string[] {
  if (!headers["content-type"]?.startsWith("text/event-stream")) return [`content-type is ${headers["content-type"]}`];
  if (!text.endsWith("\n\n")) return ["the last event is cut off"];
  const lines = text
    .slice(0, -2)
    .split("\n\n")
    .filter((event) => event !== ": keep-alive");
  if (lines.some((line) => !line.startsWith("data: "))) return ["there is an event without data"];
  const events = lines.map((line) => line.slice("data: ".length));
  // No request makes the scripted engine fail, so a stream must not end with an error.
  if (events.at(-1) !== "[DONE]") return [`the stream ends with ${events.at(-1)?.slice(0, 200)}`];
  const schema = expected.answer === "chat-stream" ? "ChatCompletionChunk" : "TextCompletionChunk";
  const bodies = events.slice(0, -1).map(parseJson);
  const wrong = bodies.flatMap((body) => findSchemaMistakes(schema, body));
  return wrong.length > 0 ? wrong : orderMistakes(bodies as Chunk[], expected, headers["x-request-id"] ?? "");
}

function orderMistakes(chunks: Chunk[], expected: ExpectedResponse, requestId: string): string[] {
  const found: string[] = [];
  if (chunks.some(({ id }) => id.split("-")[1] !== requestId.split("_")[1]))
    found.push("an event has another request's id");
  if (chunks.some(({ model }) => model !== expected.model)) found.push("an event names another model");
  const last = expected.usage ? chunks.at(-1) : undefined;
  const others = expected.usage ? chunks.slice(0, -1) : chunks;
  if (last !== undefined && (last.usage == null || last.choices.length > 0))
    found.push("the usage is not in its place");
  else if (last?.usage != null) found.push(...findUsageMistakes(last.usage, expected));
  if (others.some(({ usage }) => usage !== (expected.usage ? null : undefined)))
    found.push("an event has usage before its time");
  const finishes = others.map(({ choices }) => choices[0]?.finish_reason);
  if (finishes.at(-1) == null || finishes.slice(0, -1).some((finish) => finish !== null))
    found.push("the finish is not in its place");
  return found;
}
