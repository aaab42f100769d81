/**
 * Generates connections with unusual behavior: clients that send everything at once, disconnect in the middle, or send
 * during a response.
 */

import { deriveExpectedResponses } from "./derive-expected-responses.ts";
import { type ExpectedResponse, NOT_FOUND, NOT_HTTP, UNAUTHORIZED } from "./expected-response.ts";
import type { SocketFuzzCase } from "./fuzz-case.ts";
import { cutRandomly, HOST_HEADER, makeAnyPost, makeHead, makeListeningCase, makePostHead } from "./raw-requests.ts";
import type { SeededChoices } from "./seeded-choices.ts";

const RATES: ExpectedResponse = { status: 200, answer: "rates" };
const MODELS: ExpectedResponse = { status: 200, answer: "models" };

/** Several requests in a row on one connection; the last one may be malformed. */
export function makePipelinedRequests(random: SeededChoices): SocketFuzzCase {
  const requests = random.times(2, 6, () =>
    random.pick<() => { bytes: Buffer; expected: ExpectedResponse[] }>([
      () => ({ bytes: makeHead("GET /v1/catalog/rates HTTP/1.1"), expected: [RATES] }),
      () => ({ bytes: makeHead("GET http://fuzz/v1/models HTTP/1.1"), expected: [MODELS] }),
      () => ({ bytes: makeHead("GET /v1/nothing HTTP/1.1"), expected: [NOT_FOUND] }),
      () => ({ bytes: Buffer.from(`GET /v1/models HTTP/1.1\r\n${HOST_HEADER}\r\n\r\n`), expected: [UNAUTHORIZED] }),
      () => {
        const { endpoint, body } = makeAnyPost(random);
        const bytes = Buffer.concat([makePostHead(endpoint, `content-length: ${body.length}`), body]);
        return { bytes, expected: deriveExpectedResponses(endpoint, body) };
      },
    ])(),
  );
  const bytes = Buffer.concat(requests.map((request) => request.bytes));
  const answers = requests.map(({ expected }) => expected);
  if (random.chance(0.7)) return makeListeningCase(cutRandomly(random, bytes, 6), ...answers);
  const garbage = Buffer.from(random.pick(["\0\0", "BREW / HTTP/1.1\r\n\r\n", "}}}}"]));
  return { ...makeListeningCase([bytes, garbage], ...answers), last: [NOT_HTTP], mayStaySilent: true };
}

/** Requests an answer with pauses, so that a client can disconnect in the middle. */
function pacedBody(random: SeededChoices, more: object): Buffer {
  const orders = JSON.stringify({ tokens: random.between(40, 120), delta_ms: 2, ttft_ms: random.pick([0, 30]) });
  return Buffer.from(
    JSON.stringify({ model: "tiny-3b", messages: [{ role: "user", content: `#script ${orders}` }], ...more }),
  );
}

function leaving(body: Buffer): SocketFuzzCase {
  const bytes = Buffer.concat([makePostHead("chat", `content-length: ${body.length}`), body]);
  return { via: "socket", pieces: [bytes], afterwards: "leave", answers: [], mayStaySilent: true };
}

export function makeDisconnectDuringAnswer(random: SeededChoices): SocketFuzzCase {
  const body = pacedBody(random, { stream: true, max_tokens: 200 });
  return { ...leaving(body), leaveAfterBytes: random.between(1, 12_000) };
}

export function makeImmediateDisconnect(random: SeededChoices): SocketFuzzCase {
  const shot = leaving(pacedBody(random, { stream: random.chance(0.5), max_tokens: 200 }));
  if (random.chance(0.5)) return shot;
  const bytes = shot.pieces[0] as Buffer;
  return { ...shot, pieces: cutRandomly(random, bytes.subarray(0, random.between(0, bytes.length)), 3) };
}

/** Sends bytes during a streamed answer. They must not get into the answer. */
export function makeBytesSentDuringAnswer(random: SeededChoices): SocketFuzzCase {
  const body = pacedBody(random, { stream: true, max_tokens: 200 });
  const garbage = Buffer.from(random.pick(["\0garbage\r\n\r\n", "BREW / HTTP/1.1\r\n\r\n"]));
  const request = Buffer.concat([makePostHead("chat", `content-length: ${body.length}`), body]);
  const waits = Array.from({ length: 30 }, () => Buffer.alloc(0));
  const expected: ExpectedResponse = { status: 200, answer: "chat-stream", model: "tiny-3b", usage: false };
  return { ...makeListeningCase([request, ...waits, garbage], [expected]), last: [NOT_HTTP] };
}
