/**
 * A fake engine in the OpenAI dialect, a process of its own. It answers at once or at the pace it was told over its IPC
 * channel, and counts what it does. It looks for the few fields it needs in the raw body: quotes within a prompt are
 * escaped, so they cannot be taken for a field.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { embeddingAnswer, MODEL_LIST, wholeAnswer } from "./pieces.ts";
import { type Pace, Streams } from "./streams.ts";

const BYTES_PER_TOKEN = 4;
const STREAM = Buffer.from('"stream"');
const MAX_TOKENS = Buffer.from('"max_tokens"');

let pace: Pace = { tokens: 100, delayMs: 0, burst: 10 };
let streams = new Streams(pace);
let requests = 0;

function answer(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  if (request.method === "GET") {
    // Nothing else, or it would be taken for an engine that it is not.
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

process.on("message", (message: { type: "pace"; pace: Pace } | { type: "counts" }) => {
  if (message.type === "pace") {
    pace = message.pace;
    streams = new Streams(pace);
    requests = 0;
  }
  const { live, events, aborted } = streams;
  process.send?.({ type: "counts", counts: { requests, live, events, aborted } });
});
process.on("disconnect", () => process.exit(0));
