import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExpectedResponse, ReceivedResponse } from "./expected-response.ts";
import { findMistakes } from "./find-answer-mistakes.ts";
import { parseHttpResponses } from "./parse-http-responses.ts";

const suffix = "06dfk3v8qe7z2m4x9t1c5n0bga";
const json = { "x-request-id": `req_${suffix}`, "content-type": "application/json; charset=utf-8" };
const refused = { ...json, "x-should-retry": "false" };
const usage = { prompt_tokens: 2, completion_tokens: 1, total_tokens: 3 };
const whole = {
  id: `chatcmpl-${suffix}`,
  object: "chat.completion",
  created: 1,
  model: "tiny-3b",
  choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }],
  usage,
};
const chat: ExpectedResponse = { status: 200, answer: "chat", model: "tiny-3b", outputTokensMax: 1 };
const field: ExpectedResponse = { status: 400, param: ["model"] };
const error = (parts: object): string =>
  JSON.stringify({ error: { message: "m", type: "invalid_request_error", ...parts } });
const head = { id: whole.id, object: "chat.completion.chunk", created: 1, model: "tiny-3b" };
const chunk = (delta: object, finish_reason: string | null): string =>
  `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const stream = { ...json, "content-type": "text/event-stream; charset=utf-8" };
const streamed: ExpectedResponse = { status: 200, answer: "chat-stream", model: "tiny-3b", usage: false };
const events = chunk({ role: "assistant", content: "" }, null) + chunk({}, "stop");

const right: [name: string, answer: ReceivedResponse, expected: ExpectedResponse][] = [
  ["an answer", { status: 200, headers: json, text: JSON.stringify(whole) }, chat],
  ["an error", { status: 400, headers: refused, text: error({ param: "model" }) }, field],
  ["a stream", { status: 200, headers: stream, text: `${events}data: [DONE]\n\n` }, streamed],
];
for (const [name, answer, expected] of right) {
  test(`findMistakes() accepts ${name} that is correct`, () => assert.deepEqual(findMistakes(answer, [expected]), []));
}

const wrong: [name: string, answer: ReceivedResponse, expected: ExpectedResponse, mistake: RegExp][] = [
  ["a 500", { status: 500, headers: refused, text: error({}) }, chat, /answered 500/],
  ["an unexpected status", { status: 404, headers: refused, text: error({}) }, chat, /404 where 200 is due/],
  [
    "a missing request ID",
    { status: 400, headers: { ...refused, "x-request-id": "" }, text: error({ param: "model" }) },
    field,
    /x-request-id/,
  ],
  [
    "a missing error envelope",
    { status: 400, headers: refused, text: '{"statusCode":400}' },
    field,
    /Error.error is missing/,
  ],
  ["a wrong param", { status: 400, headers: refused, text: error({ param: "stop" }) }, field, /param is stop/],
  ["a missing param", { status: 400, headers: refused, text: error({}) }, field, /param is undefined/],
  [
    "an unexpected param",
    { status: 400, headers: refused, text: error({ param: "n" }) },
    { status: 400, param: null },
    /param is n/,
  ],
  [
    "a wrong code",
    { status: 400, headers: refused, text: error({ code: "internal_error", param: "model" }) },
    field,
    /code is/,
  ],
  [
    "an undeclared field",
    { status: 200, headers: json, text: JSON.stringify({ ...whole, x: 1 }) },
    chat,
    /x is not documented/,
  ],
  [
    "output over the cap",
    { status: 200, headers: json, text: JSON.stringify(whole) },
    { ...chat, outputTokensMax: 0 },
    /exceed the cap/,
  ],
  [
    "a wrong model",
    { status: 200, headers: json, text: JSON.stringify(whole) },
    { ...chat, model: "mid-14b" },
    /the model is/,
  ],
  ["a missing [DONE]", { status: 200, headers: stream, text: events }, streamed, /the stream ends with/],
  [
    "a missing finish_reason",
    { status: 200, headers: stream, text: `${chunk({}, null)}data: [DONE]\n\n` },
    streamed,
    /finish is not in its place/,
  ],
  [
    "an HTTP response inside a stream",
    { status: 200, headers: stream, text: `${events}HTTP/1.1 400\n\ndata: [DONE]\n\n` },
    streamed,
    /without data/,
  ],
];
for (const [name, answer, expected, mistake] of wrong) {
  test(`findMistakes() reports ${name}`, () => assert.match(findMistakes(answer, [expected]).join("; "), mistake));
}

test("parseHttpResponses() parses a sequence of responses, and throws if one begins before the previous response's body ends", () => {
  const one = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
  const two = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
  const { answers, rest } = parseHttpResponses(Buffer.from(`${one}${two}HTTP`));
  assert.deepEqual(
    answers.map(({ text }) => text),
    ["hi", "hi"],
  );
  assert.equal(rest.toString(), "HTTP");
  const mixed = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\nHTTP/1.1 400 Bad Request\r\n\r\n";
  assert.throws(() => parseHttpResponses(Buffer.from(mixed)), /not HTTP/);
});
