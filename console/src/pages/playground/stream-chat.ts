/** Requests a streamed chat completion from the public API with the playground's key. */

import { ApiFault, parseFault } from "../../api/api-fault.ts";
import { eventParser } from "../../api/event-stream.ts";
import type { StreamChunk } from "./answer-state.ts";

interface Ask {
  apiKey: string;
  body: object;
  signal: AbortSignal;
  /** Called when the API has accepted the request, which may cost something from then on. */
  onBegin: (requestId: string | undefined) => void;
  onChunk: (chunk: StreamChunk) => void;
}

/** An API error with the time at which a retry is allowed, in Unix milliseconds. */
export class ChatRefused extends ApiFault {
  readonly againAtMs: number | undefined;

  constructor(fault: ApiFault, againAtMs: number | undefined) {
    super(fault);
    this.againAtMs = againAtMs;
  }
}

/** Resolves when the stream has ended, even with an error event. Throws ChatRefused if the API refused the request. */
export async function streamChat({ apiKey, body, signal, onBegin, onChunk }: Ask): Promise<void> {
  const response = await fetch("/v1/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
    // Omits cookies, because the public API identifies the sender by the key alone.
    credentials: "omit",
    signal,
  });
  if (!response.ok || response.body === null) {
    const fault = parseFault(response.status, await response.json().catch(() => undefined));
    const waitS = Number(response.headers.get("retry-after") ?? Number.NaN);
    throw new ChatRefused(fault, Number.isFinite(waitS) ? Date.now() + waitS * 1000 : undefined);
  }
  onBegin(response.headers.get("x-request-id") ?? undefined);
  let failed = false;
  const take = eventParser(({ data }) => {
    if (data === "[DONE]") return;
    const chunk = JSON.parse(data) as StreamChunk;
    failed = chunk.error !== undefined;
    onChunk(chunk);
  });
  const reader = response.body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    take(value);
    // The stream ends with an error event, so no further chunk is read.
    if (failed) return;
  }
}
