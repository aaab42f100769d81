/** Sends builders' requests as plain HTTP, and reads their answers. */

import type { Stage } from "./base-stage.ts";
import type { ReadyFile } from "./dev-platform.ts";
import { readResponseParts, readText } from "./raw-http.ts";

/** The gateway to which a builder sends requests, and the builder's key. */
type Client = { ready: Pick<ReadyFile, "gateway_url" | "api_key"> };

/** Returns a prompt with instructions for the scripted engine (`host/src/engines/engine-script.ts`). */
export const makeScriptPrompt = (orders: object): string => `#script ${JSON.stringify(orders)}`;

/** Sends a chat that the scripted engine answers as `orders` instructs. */
export function sendScriptedChat(
  platform: Client,
  orders: object,
  more: object = {},
  signal: AbortSignal | null = null,
): Promise<Response> {
  return fetch(`${platform.ready.gateway_url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${platform.ready.api_key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "tiny-3b",
      messages: [{ role: "user", content: makeScriptPrompt(orders) }],
      ...more,
    }),
    signal,
  });
}

/** Keeps a streamed request of this model in flight until the returned function is called. */
export async function keepModelBusy(platform: Client, model: string): Promise<() => Promise<void>> {
  const gone = new AbortController();
  // Generates up to the model's context length, which takes longer than any suite.
  const orders = { tokens: 100_000, delta_ms: 200 };
  const response = await sendScriptedChat(platform, orders, { model, stream: true }, gone.signal);
  if (response.status !== 200) throw new Error(`the request that keeps ${model} busy was answered ${response.status}`);
  const read = response.text().catch((error: Error) => {
    if (error.name !== "AbortError") throw error;
  });
  return async () => {
    gone.abort();
    await read;
  };
}

export type GenerationRequest = { model: string; prompt: string } & Record<string, unknown>;

/** Sends a chat of one user message. */
export function sendUserMessage(
  stage: Pick<Stage, "baseUrl">,
  key: string,
  { model, prompt, ...more }: GenerationRequest,
  signal: AbortSignal | null = null,
): Promise<Response> {
  return fetch(`${stage.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: prompt }], ...more }),
    signal,
  });
}

/** Returns the text of an answer, streamed or not. */
export const readAnswerText = async (response: Response): Promise<string> =>
  findAnswerText(response, await readText(response));

/** Returns the text of the answer in a response's body, streamed or not. */
export function findAnswerText(response: Response, text: string): string {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    const { choices } = JSON.parse(text) as { choices?: { message: { content: string } }[] };
    return choices?.[0]?.message.content ?? "";
  }
  return [...text.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => JSON.parse(`"${word}"`)).join("");
}

/** Returns the error code in an error body or in a stream's last event. */
export const findErrorCode = (text: string): string | undefined => /"code":\s*"([a-z_]+)"/.exec(text)?.[1];

/**
 * Reads a stream until the node's first output arrives. Resolves with a function that reads the rest and returns the
 * whole text.
 */
export async function waitForFirstOutput(response: Response): Promise<() => Promise<string>> {
  const parts = readResponseParts(response);
  let text = "";
  const more = async (): Promise<boolean> => {
    const { done, value } = await parts.next();
    text += value ?? "";
    return done !== true;
  };
  // The gateway sends a first chunk without content before a node has the request, so that chunk does not count.
  while (!/"content":"[^"]/.test(text))
    if (!(await more())) throw new Error(`the stream ended without a word: ${text}`);
  return async () => {
    while (await more());
    return text;
  };
}
