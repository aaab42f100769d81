/** Invalid inputs that contain a unique word: in a field, a header, a path, a form, or a node's message. */
import { connect } from "node:net";
import type { Behaviour } from "@tollgate/stage/nodes/hand-made-node.ts";
import { failIfHung } from "@tollgate/stage/wait.ts";

/** Makes a unique word to send in an input, so that it is recognized where it leaks. `way` names the input. */
type Word = (way: string) => string;

/** Chat requests that each have one invalid field, listed by that field. Its value contains the given word. */
export const CHAT_REQUESTS_WITH_WRONG_FIELD: [string, (it: string) => object][] = [
  ["model", (it) => ({ model: it })],
  ["messages", (it) => ({ messages: it })],
  ["a role", (it) => ({ messages: [{ role: it, content: "x" }] })],
  ["a part's type", (it) => ({ messages: [{ role: "user", content: [{ type: it, text: "x" }] }] })],
  [
    "a part's text",
    (it) => ({ messages: [{ role: "user", content: [{ type: "text", text: it }, { type: "image" }] }] }),
  ],
  ["temperature", (it) => ({ temperature: it })],
  ["max_tokens", (it) => ({ max_tokens: it })],
  ["n", (it) => ({ n: it })],
  ["seed", (it) => ({ seed: it })],
  ["stream", (it) => ({ stream: it })],
  ["a stop string", (it) => ({ stop: [it, it, it, it, it] })],
  ["tool_choice", (it) => ({ tool_choice: { type: "function", function: { name: it } } })],
  ["response_format", (it) => ({ response_format: { type: it } })],
  ["a schema's name", (it) => ({ response_format: { type: "json_schema", json_schema: { name: it } } })],
];

export const LEAK_MARKER_HEADERS = [
  "x-request-id",
  "idempotency-key",
  "referer",
  "origin",
  "cookie",
  "accept",
  "accept-language",
  "openai-organization",
  "traceparent",
  "x-forwarded-for",
  "x-stainless-lang",
  "x-stainless-package-version",
  "x-anything",
];

export const URL_PREFIXES_FOR_LEAK_MARKERS = [
  "/",
  "/v1/",
  "/v1/models/",
  "/console/",
  "/console/api/",
  "/console/api/keys/",
  "/node/v1/nodes/",
  "/webhooks/",
  "/docs/",
  "/anthropic/",
];

/** Bytes that are not a valid request. */
export const invalidHttpRequests = (word: Word): string[] => [
  `${word("a method").toUpperCase()} / HTTP/1.1\r\nHost: x\r\n\r\n`,
  `GET /${word("a path")} HTTP/9.9\r\nHost: x\r\n\r\n`,
  `GET / HTTP/1.1\r\n${word("a header that is none")}\r\n\r\n`,
  `POST /v1/chat/completions HTTP/1.1\r\nHost: ${word("a host's name")}\r\nContent-Length: ${word("a length")}\r\n\r\n`,
];

/**
 * Nodes whose messages contain the unique word: in output and failure messages, where any text is allowed, or in
 * malformed frames.
 */
export function makeNodesThatSendWord(word: Word): Behaviour[] {
  const said: Behaviour[] = (["engine", "prompt", "agent"] as const).map((cause) => (job) => {
    job.accept();
    job.deltas([word("output of a node that fails")]);
    job.failed(cause, `${word(`a failure of the ${cause}`)} at: ${job.prompt}`);
  });
  const broken =
    (frame: (job: string) => Buffer): Behaviour =>
    (job) => {
      job.accept();
      job.raw(frame(job.header.job));
      job.failed("engine", "over");
    };
  const frames = [19, 20, 21, 22].map((kind) =>
    broken((job) =>
      Buffer.concat([Buffer.of(1, kind), Buffer.from(`{"job":"${job}","${word(`a frame of kind ${kind}`)}`)]),
    ),
  );
  const finish = broken((job) =>
    Buffer.concat([Buffer.of(1, 21), Buffer.from(JSON.stringify({ job, seq: 0, finish: word("a finish") }))]),
  );
  return [...said, ...frames, finish];
}

type Form = [method: "GET" | "POST", path: string, body?: object];

/** Console forms with an invalid field that contains the word. */
export const makeInvalidConsoleForms = (word: Word): Form[] => [
  ["POST", "accounts", { kind: word("an account's kind"), name: "x" }],
  ["POST", "keys", { name: { x: word("a key's name that is none") } }],
  ["POST", "credits/checkout", { pack_id: word("a pack") }],
  ["POST", "credits/checkout", { pack_id: "pack_5" }],
  ["POST", "auth/two-factor/enable", { password: word("another wrong password") }],
  ["POST", "auth/two-factor/confirm", { code: word("a code") }],
  ["POST", "auth/reset-password", { token: word("a reset's token"), password: word("a new password") }],
  ["POST", "auth/request-password-reset", { email: `${word("an address to mail")}@example.test` }],
  ["GET", `requests?model=${word("a filter's model")}&outcome=${word("a filter's outcome")}`],
  ["GET", `requests?cursor=${word("a cursor")}&key=${word("a filter's key")}`],
  ["GET", `usage?by=${word("a grouping")}`],
];

/** Sends bytes that are not a request and waits until the gateway closes the connection. */
export async function sendRawHttp(baseUrl: string, bytes: string): Promise<void> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname, () => socket.write(bytes));
  // The gateway may close the connection with a reset.
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.resume().once("close", resolve));
  await failIfHung(`the gateway closes on ${JSON.stringify(bytes)}`, closed);
}
