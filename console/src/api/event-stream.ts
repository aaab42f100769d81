/**
 * Reads server-sent events with fetch, because EventSource cannot send the header with the account's ID. Reopens the
 * stream when it ends, with growing pauses while that fails.
 */
const RETRY_MS_MIN = 2_000;
const RETRY_MS_MAX = 60_000;
/** Statuses that end the stream permanently. 400: the person lost access to the account named in the request. */
const REFUSED = [400, 401, 403];

export interface ServerEvent {
  event: string;
  data: string;
}

export interface StreamOptions {
  url: string;
  headers: Record<string, string>;
  on: (event: ServerEvent) => void;
  /** Called with true when the stream opens, and with false when it ends or cannot be opened. */
  onState: (open: boolean) => void;
  /** Called when 400, 401 or 403 ends the stream permanently, because a retry would get the same answer. */
  onRefused: (status: number) => void;
}

/** Opens the stream. Returns a function that closes it. */
export function openEventStream(options: StreamOptions): () => void {
  const over = new AbortController();
  void keepReading(options, over.signal);
  return () => over.abort();
}

async function keepReading(options: StreamOptions, over: AbortSignal): Promise<void> {
  let retryMs = RETRY_MS_MIN;
  while (!over.aborted) {
    try {
      const { url, headers } = options;
      const response = await fetch(url, { headers: { accept: "text/event-stream", ...headers }, signal: over });
      if (REFUSED.includes(response.status)) return options.onRefused(response.status);
      if (!response.ok || response.body === null)
        throw new Error(`The event stream failed with status ${response.status}.`);
      options.onState(true);
      retryMs = RETRY_MS_MIN;
      await readEvents(response.body, (event) => {
        if (!over.aborted) options.on(event);
      });
    } catch {
      // Any other failure may be temporary, so the stream is reopened.
      retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
    }
    if (over.aborted) return;
    options.onState(false);
    // The pause is random, so that not all pages reconnect at once when the gateway is back.
    await pause(retryMs * (0.5 + Math.random() / 2), over);
  }
}

async function readEvents(body: ReadableStream<Uint8Array>, on: (event: ServerEvent) => void): Promise<void> {
  const events = eventParser(on);
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    events(value);
  }
}

/** Accepts text in arbitrary pieces, and calls `on` for each complete event. */
export function eventParser(on: (event: ServerEvent) => void): (piece: string) => void {
  let pending = "";
  return (piece) => {
    pending += piece;
    const blocks = pending.split(/\r?\n\r?\n/);
    pending = blocks.pop() ?? "";
    for (const block of blocks) {
      const lines = block.split(/\r?\n/);
      const field = (name: string): string[] =>
        lines
          .filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).replace(/^ /, ""));
      const data = field("data");
      if (data.length > 0) on({ event: field("event").at(-1) ?? "message", data: data.join("\n") });
    }
  };
}

function pause(ms: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    over.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
