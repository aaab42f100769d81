/**
 * A fake engine with the OpenAI API, in a process of its own. It answers at once or at the pace set over IPC, and
 * counts requests.
 *
 * It searches the raw body for the few fields that it needs: quotes in a prompt are escaped, so a prompt cannot contain
 * a field.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type EnginePace, FAKE_MODEL } from "./fake-engine.ts";
import { nowUs } from "./process-resource-usage.ts";

const BYTES_PER_TOKEN = 4;
const STREAM = Buffer.from('"stream"');
const MAX_TOKENS = Buffer.from('"max_tokens"');

// A fixed creation time, so that the answers' bytes are built once and the engine's own work does not affect the
// measurement.
const CREATED = 1_700_000_000;
const VECTOR_WIDTH = 1024;
const WORDS =
  " the gateway keeps a ledger of every token it relays and never waits for the disk while a stream is open".split(
    /(?= )/,
  );

/** One event is one chunk of the HTTP response, including the chunk's framing. */
const chunk = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
};
const head = `"id":"chatcmpl-fake","created":${CREATED},"model":"${FAKE_MODEL}"`;
/** An event as llama.cpp's server writes it, with the current second after the text. */
const stepEvent = (text: string): Buffer =>
  chunk(
    `data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":${JSON.stringify(text)}}}],"created":${Math.floor(Date.now() / 1000)},"id":"chatcmpl-fake","model":"${FAKE_MODEL}","system_fingerprint":"b1-fake","object":"chat.completion.chunk"}\n\n`,
  );
const event = (delta: string, finish: string): Buffer =>
  chunk(
    `data: {${head},"object":"chat.completion.chunk","choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]}\n\n`,
  );
const contentEvent = (text: string): Buffer => event(`{"content":${JSON.stringify(text)}}`, "null");
const WORD_EVENTS = WORDS.map(contentEvent);

const OPENING = event('{"role":"assistant","content":""}', "null");
const ENDING = Buffer.concat([event("{}", '"stop"'), chunk("data: [DONE]\n\n")]);
/** The number of events in `ENDING`, not counting the closing marker. */
const ENDING_EVENTS = 1;

const wordEvent = (n: number): Buffer => WORD_EVENTS[n % WORD_EVENTS.length] as Buffer;
/** A text with the current time, by the clock that all processes of the machine share. */
const stamp = (): string => ` @${nowUs().toString(36)}`;
const stampedEvent = (): Buffer => contentEvent(stamp());
const burst = remembered((events) => Buffer.concat(Array.from({ length: events }, (_, n) => wordEvent(n))));

const wholeText = remembered((tokens) =>
  JSON.stringify(Array.from({ length: tokens }, (_, n) => WORDS[n % WORDS.length]).join("")),
);

function wholeAnswer(promptTokens: number, tokens: number): string {
  const usage = { prompt_tokens: promptTokens, completion_tokens: tokens, total_tokens: promptTokens + tokens };
  return `{${head},"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":${wholeText(
    tokens,
  )},"refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":${JSON.stringify(usage)}}`;
}

const VECTOR = JSON.stringify(Array.from({ length: VECTOR_WIDTH }, (_, n) => Number((Math.sin(n) / 10).toFixed(8))));
const embeddingAnswer = (promptTokens: number): string =>
  `{"object":"list","model":"${FAKE_MODEL}","data":[{"object":"embedding","index":0,"embedding":${VECTOR}}],"usage":{"prompt_tokens":${promptTokens},"total_tokens":${promptTokens}}}`;

const MODEL_LIST = JSON.stringify({
  object: "list",
  data: [{ id: FAKE_MODEL, object: "model", created: CREATED, owned_by: "fake" }],
});

function remembered<T>(make: (n: number) => T): (n: number) => T {
  const made = new Map<number, T>();
  return (n) => {
    const known = made.get(n);
    if (known !== undefined) return known;
    const fresh = make(n);
    made.set(n, fresh);
    return fresh;
  };
}

/** Every tenth event of a paced stream contains the time at which it was written. */
const STAMP_EVERY = 10;

interface Stream {
  response: ServerResponse;
  socket: Socket;
  left: number;
  over: boolean;
}

/**
 * The engine's streams: either one timer sets the pace of all, or each is as fast as its reader. After the response
 * head, events are written directly to the socket, because they are already formatted as HTTP chunks.
 */
class Streams {
  readonly #pace: EnginePace;
  readonly #wheel: Wheel;
  live = 0;
  events = 0;
  aborted = 0;

  constructor(pace: EnginePace) {
    this.#pace = pace;
    this.#wheel = new Wheel({ slots: Math.max(1, pace.delayMs), isShared: pace.inSteps ?? false });
  }

  start(response: ServerResponse, tokens: number): void {
    const { socket } = response;
    if (socket === null) return;
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      "transfer-encoding": "chunked",
    });
    response.flushHeaders();
    socket.setNoDelay(true);
    const stream: Stream = { response, socket, left: tokens, over: false };
    this.live++;
    response.once("close", () => {
      this.live--;
      if (!stream.over) this.aborted++;
      stream.over = true;
    });
    this.events++;
    socket.write(OPENING);
    if (this.#pace.delayMs === 0) this.#pour(stream);
    else this.#wheel.add((bytes) => this.#tick(stream, bytes));
  }

  /** Writes the stream's next event. Returns false when the stream has ended. */
  #tick(stream: Stream, bytes: Buffer): boolean {
    if (stream.over) return false;
    this.events++;
    stream.socket.write(bytes);
    stream.left--;
    if (stream.left > 0) return true;
    this.#finish(stream);
    return false;
  }

  #pour(stream: Stream): void {
    if (stream.over) return;
    const events = Math.min(this.#pace.burst, stream.left);
    stream.left -= events;
    this.events += events;
    const more = stream.socket.write(burst(events));
    if (stream.left === 0) this.#finish(stream);
    else if (more) setImmediate(() => this.#pour(stream));
    else stream.socket.once("drain", () => this.#pour(stream));
  }

  #finish(stream: Stream): void {
    this.events += ENDING_EVENTS;
    stream.over = true;
    stream.socket.write(ENDING);
    stream.response.end();
  }
}

type Turn = (bytes: Buffer) => boolean;

/**
 * One timer for all streams. It has a slot for every millisecond of the pause between events; the streams are spread
 * over the slots or share one. The timer follows the wall clock, because millisecond timers run late under load. A
 * stream that is late by a whole round skips the missed events instead of sending them in a burst.
 */
class Wheel {
  readonly #slots: { turns: Set<Turn>; rounds: number }[];
  #timer: NodeJS.Timeout | undefined;
  #position = 0;
  #startedAt = 0;
  #count = 0;
  #added = 0;
  /** All streams share one slot. */
  readonly #isShared: boolean;

  constructor({ slots, isShared }: { slots: number; isShared: boolean }) {
    this.#isShared = isShared;
    this.#slots = Array.from({ length: slots }, () => ({ turns: new Set(), rounds: 0 }));
  }

  add(turn: Turn): void {
    if (this.#timer === undefined) {
      this.#startedAt = performance.now();
      this.#position = 0;
      this.#timer = setInterval(() => this.#advance(), 1);
    }
    this.#slots[this.#isShared ? 0 : this.#added++ % this.#slots.length]?.turns.add(turn);
    this.#count++;
  }

  #advance(): void {
    const due = Math.floor(performance.now() - this.#startedAt);
    for (let steps = 0; this.#position < due && steps < this.#slots.length; steps++) {
      const slot = this.#slots[this.#position++ % this.#slots.length];
      if (slot === undefined || slot.turns.size === 0) continue;
      const isStamped = slot.rounds++ % STAMP_EVERY === 0;
      const bytes = this.#isShared
        ? stepEvent(isStamped ? stamp() : (WORDS[slot.rounds % WORDS.length] as string))
        : isStamped
          ? stampedEvent()
          : wordEvent(slot.rounds);
      for (const turn of slot.turns) if (!turn(bytes)) this.#drop(slot.turns, turn);
    }
    this.#position = Math.max(this.#position, due);
  }

  #drop(turns: Set<Turn>, turn: Turn): void {
    turns.delete(turn);
    this.#count--;
    if (this.#count > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

let pace: EnginePace = { tokens: 100, delayMs: 0, burst: 10 };
let streams = new Streams(pace);
let requests = 0;

function answer(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  if (request.method === "GET") {
    // Answers no other GET request, so that no client takes it for a particular kind of engine.
    if (request.url?.endsWith("/models")) whole(response, MODEL_LIST);
    else response.writeHead(404).end();
    return;
  }
  requests++;
  const promptTokens = Math.ceil(body.length / BYTES_PER_TOKEN);
  const tokensMax = Number.parseInt(textAfter(body, MAX_TOKENS), 10);
  const tokens = tokensMax > 0 ? Math.min(tokensMax, pace.tokens) : pace.tokens;
  if (request.url?.endsWith("/embeddings")) whole(response, embeddingAnswer(promptTokens));
  else if (textAfter(body, STREAM).startsWith("true")) streams.start(response, tokens);
  else whole(response, wholeAnswer(promptTokens, tokens));
}

function whole(response: ServerResponse, json: string): void {
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(json) });
  response.end(json);
}

function textAfter(body: Buffer, field: Buffer): string {
  const at = body.lastIndexOf(field);
  if (at < 0) return "";
  return body
    .toString("latin1", at + field.length, Math.min(body.length, at + field.length + 16))
    .replace(/^[\s:]+/, "");
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => answer(request, response, parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)));
});
Object.assign(server, { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 });
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  process.send?.({ type: "listening", port: (server.address() as AddressInfo).port });
});

process.on("message", (message: { type: "pace"; pace: EnginePace } | { type: "counts" }) => {
  if (message.type === "pace") {
    pace = message.pace;
    streams = new Streams(pace);
    requests = 0;
  }
  const { live, events, aborted } = streams;
  process.send?.({ type: "counts", counts: { requests, live, events, aborted } });
});
process.on("disconnect", () => process.exit(0));
