/**
 * The requests of a scenario, serialised in advance. Every one that is sent carries a number of its own in its prompt, so
 * that no cache can answer for work it did not do.
 */
import type { Scenario } from "../scenarios.ts";

const TEMPLATES = 8;
const NUMBER = "number 000000000000 ";
const WORDS = (
  "time person year way day thing man world life hand part child eye woman place work week case point government " +
  "company number group problem fact be have do say get make go know take see come think look want give use find tell " +
  "ask seem feel try leave call good new first last long great little own other old right big high quantization " +
  'entropy "ledger" prepaid_balance idempotent naïve Zürich 3.14159 {json} https://example.com/a?b=1 throughput\n'
).split(" ");

/** Where requests go, and as whom. */
export interface Address {
  port: number;
  models: { chat: string; embedding: string };
  headers: Record<string, string>;
}

/** Gives the bytes of the next request. */
export function requestsFor(address: Address, scenario: Scenario): () => Buffer {
  const templates = Array.from({ length: TEMPLATES }, (_, i) => {
    const bytes = serialise(address, scenario, NUMBER + prose(scenario.promptBytes - NUMBER.length, 7919 * (i + 1)));
    return { bytes, at: bytes.indexOf(NUMBER) + NUMBER.indexOf("0") };
  });
  let next = Math.floor(Math.random() * 1e9) * 100;
  return () => {
    const template = templates[next % TEMPLATES] as (typeof templates)[number];
    const bytes = Buffer.from(template.bytes);
    bytes.write(String(next++ % 1e12).padStart(12, "0"), template.at, "latin1");
    return bytes;
  };
}

function serialise({ port, models, headers }: Address, scenario: Scenario, prompt: string): Buffer {
  const body = Buffer.from(JSON.stringify(bodyOf(models, scenario, prompt)));
  const lines = [
    `POST /v1/${scenario.endpoint === "embeddings" ? "embeddings" : "chat/completions"} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    "content-type: application/json",
    `accept: ${scenario.stream ? "text/event-stream" : "application/json"}`,
    "user-agent: bench/1",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]);
}

function bodyOf(models: Address["models"], { endpoint, tokens, stream }: Scenario, prompt: string): object {
  if (endpoint === "embeddings") return { model: models.embedding, input: prompt };
  return {
    model: models.chat,
    messages: [
      { role: "system", content: "You are a helpful assistant." },
      { role: "user", content: prompt },
    ],
    // The engine knows how much to say. A gateway that counts by itself must not find the stamps in a stream too long.
    max_tokens: 4 * tokens,
    temperature: 0.7,
    ...(stream ? { stream: true } : {}),
  };
}

/** About so many bytes that look like language. */
function prose(bytes: number, seed: number): string {
  let state = seed;
  let text = "";
  while (text.length < bytes) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    text += `${WORDS[state % WORDS.length]} `;
  }
  return text.slice(0, bytes);
}
