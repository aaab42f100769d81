/** The bytes of the fake engine's answers, made once: the engine must never be what is measured. */
import { nowUs } from "../load/times.ts";

export const MODEL = "fake-model";
const CREATED = 1_700_000_000;
const VECTOR_WIDTH = 1024;
const WORDS =
  " the gateway keeps a ledger of every token it relays and never waits for the disk while a stream is open".split(
    /(?= )/,
  );

/** One event is one chunk of the HTTP response, framing included. */
const chunk = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
};
const head = `"id":"chatcmpl-fake","created":${CREATED},"model":"${MODEL}"`;
const event = (delta: string, finish: string): Buffer =>
  chunk(
    `data: {${head},"object":"chat.completion.chunk","choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}]}\n\n`,
  );
const contentEvent = (text: string): Buffer => event(`{"content":${JSON.stringify(text)}}`, "null");
const WORD_EVENTS = WORDS.map(contentEvent);

export const OPENING = event('{"role":"assistant","content":""}', "null");
export const ENDING = Buffer.concat([event("{}", '"stop"'), chunk("data: [DONE]\n\n")]);
/** How many events `ENDING` holds besides the marker. */
export const ENDING_EVENTS = 1;

export const wordEvent = (n: number): Buffer => WORD_EVENTS[n % WORD_EVENTS.length] as Buffer;
/** An event that says when it was written, by the clock that all processes of the machine share. */
export const stampedEvent = (): Buffer => contentEvent(` @${nowUs().toString(36)}`);
export const burst = remembered((events) => Buffer.concat(Array.from({ length: events }, (_, n) => wordEvent(n))));

const wholeText = remembered((tokens) =>
  JSON.stringify(Array.from({ length: tokens }, (_, n) => WORDS[n % WORDS.length]).join("")),
);

export function wholeAnswer(promptTokens: number, tokens: number): string {
  const usage = { prompt_tokens: promptTokens, completion_tokens: tokens, total_tokens: promptTokens + tokens };
  return `{${head},"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":${wholeText(
    tokens,
  )},"refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":${JSON.stringify(usage)}}`;
}

const VECTOR = JSON.stringify(Array.from({ length: VECTOR_WIDTH }, (_, n) => Number((Math.sin(n) / 10).toFixed(8))));
export const embeddingAnswer = (promptTokens: number): string =>
  `{"object":"list","model":"${MODEL}","data":[{"object":"embedding","index":0,"embedding":${VECTOR}}],"usage":{"prompt_tokens":${promptTokens},"total_tokens":${promptTokens}}}`;

export const MODEL_LIST = JSON.stringify({
  object: "list",
  data: [{ id: MODEL, object: "model", created: CREATED, owned_by: "fake" }],
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
