/**
 * A stream that is begun again as long as that is safe. A stream is 200 before a node is chosen, so "no capacity" comes as
 * an event inside it, which no SDK repeats by itself. Only while no text has come, only what is free, and not for ever.
 */
import OpenAI from "openai";
import type { ChatCompletionChunk, ChatCompletionCreateParamsStreaming } from "openai/resources/chat/completions";

export interface RetryOptions {
  /** Requests in all. */
  attemptsMax?: number;
  /** The first wait, which doubles; it comes on top of a `Retry-After`. */
  waitMs?: number;
  waitMsMax?: number;
  /** Of a model that thinks before it answers, a stall may have been billed though no text came: it is not repeated. */
  thinks?: boolean;
  signal?: AbortSignal;
  onRetry?: (error: unknown, waitMs: number) => void;
}

/** The chunks of one answer. Raises what the SDK raises once trying again is over, or would not be safe. */
export async function* streamWithRetry(
  client: OpenAI,
  body: Omit<ChatCompletionCreateParamsStreaming, "stream">,
  options: RetryOptions = {},
): AsyncGenerator<ChatCompletionChunk> {
  const { attemptsMax = 4, waitMs = 500, waitMsMax = 20_000, thinks = false, signal, onRetry } = options;
  for (let attempt = 1; ; attempt++) {
    const held: ChatCompletionChunk[] = [];
    let begun = false;
    try {
      // The SDK's own retries are off: all of them are counted here.
      const stream = await client.chat.completions.create({ ...body, stream: true }, { maxRetries: 0, signal });
      for await (const chunk of stream) {
        // Until text comes, chunks are kept back: of a stream that is begun again nothing may be seen.
        begun ||= chunk.choices.some(({ delta, finish_reason }) => delta.content || finish_reason);
        if (begun) yield* held.splice(0);
        if (begun) yield chunk;
        else held.push(chunk);
      }
      yield* held;
      return;
    } catch (error) {
      if (begun || attempt >= attemptsMax || !isFree(error, thinks)) throw error;
      const pause = pauseAfter(error, Math.min(waitMs * 2 ** (attempt - 1), waitMsMax));
      onRetry?.(error, pause);
      await sleep(pause, signal);
    }
  }
}

/** Whether nothing was billed for it and another try may help. */
function isFree(error: unknown, thinks: boolean): boolean {
  if (error instanceof OpenAI.APIConnectionError) return true; // no answer at all
  if (!(error instanceof OpenAI.APIError)) return false;
  const { code, headers } = error;
  if (headers?.get("x-should-retry") === "false") return false;
  if (code === "upstream_stall") return !thinks;
  return code === "no_capacity" || (code?.startsWith("rate_limit_") ?? false);
}

/** What the gateway says, and up to the given time more, so that many clients do not come back at once. */
function pauseAfter(error: unknown, backoffMs: number): number {
  const toldS = error instanceof OpenAI.APIError ? Number(error.headers?.get("retry-after") ?? 0) : 0;
  return toldS * 1000 + backoffMs * (1 - Math.random() / 2);
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", leave);
      resolve();
    }, ms);
    if (signal?.aborted) leave();
    else signal?.addEventListener("abort", leave, { once: true });
  });
}
