/** Generates requests with correct HTTP framing whose bodies are valid or broken. */

import { damageField, damageText, mutateBody } from "./damage-bodies.ts";
import { deriveExpectedResponses } from "./derive-expected-responses.ts";
import type { ExpectedResponse } from "./expected-response.ts";
import { FUZZ_API_KEY, type HttpFuzzCase } from "./fuzz-case.ts";
import { drawJsonStyle, writeJson } from "./raw-json.ts";
import { drawValidBody, ENDPOINTS, type Endpoint, PATH_BY_ENDPOINT } from "./request-bodies.ts";
import type { SeededChoices } from "./seeded-choices.ts";
import { drawRandomValue, drawTrickyText } from "./tricky-values.ts";

export const KEY_HEADERS = { authorization: `Bearer ${FUZZ_API_KEY}`, "content-type": "application/json" };

export const pickEndpoint = (random: SeededChoices): Endpoint =>
  random.pick([...ENDPOINTS, "chat", "chat", "completion"] as const);

export function makePostCase(endpoint: Endpoint, body: Buffer, headers: Record<string, string> = {}): HttpFuzzCase {
  const expected = deriveExpectedResponses(endpoint, body);
  return {
    via: "agent",
    method: "POST",
    path: PATH_BY_ENDPOINT[endpoint],
    headers: { ...KEY_HEADERS, ...headers },
    body,
    expected,
  };
}

export function makeValidBody(random: SeededChoices): HttpFuzzCase {
  const endpoint = pickEndpoint(random);
  return makePostCase(endpoint, Buffer.from(writeJson(drawValidBody(random, endpoint))));
}

export function makeUnusualJson(random: SeededChoices): HttpFuzzCase {
  const endpoint = pickEndpoint(random);
  return makePostCase(endpoint, Buffer.from(writeJson(drawValidBody(random, endpoint), drawJsonStyle(random), random)));
}

export function makeWrongField(random: SeededChoices): HttpFuzzCase {
  const endpoint = pickEndpoint(random);
  const body = damageField(random, endpoint, drawValidBody(random, endpoint));
  return makePostCase(endpoint, Buffer.from(writeJson(body, drawJsonStyle(random), random)));
}

export function makeMutatedBody(random: SeededChoices): HttpFuzzCase {
  const endpoint = pickEndpoint(random);
  return makePostCase(endpoint, Buffer.from(writeJson(mutateBody(random, drawValidBody(random, endpoint)))));
}

export function makeRandomJson(random: SeededChoices): HttpFuzzCase {
  const value = random.chance(0.5)
    ? drawRandomValue(random)
    : { model: "tiny-3b", [drawTrickyText(random)]: drawRandomValue(random) };
  return makePostCase(pickEndpoint(random), Buffer.from(writeJson(value, drawJsonStyle(random), random)));
}

export function makeDamagedText(random: SeededChoices): HttpFuzzCase {
  const endpoint = pickEndpoint(random);
  return makePostCase(endpoint, damageText(random, writeJson(drawValidBody(random, endpoint))));
}

/** A prompt that is longer than any context: each word is at least one token. */
export function makeTooLongPrompt(random: SeededChoices): HttpFuzzCase {
  const endpoint = pickEndpoint(random);
  const text = Array.from({ length: 40_000 }, (_, i) => `w${i}`).join(" ");
  const body = drawValidBody(random, endpoint);
  const [field, value] = {
    chat: ["messages", [{ role: "user", content: text }]],
    completion: ["prompt", [text]],
    embedding: ["input", text],
  }[endpoint] as [string, unknown];
  const shot = makePostCase(endpoint, Buffer.from(JSON.stringify({ ...body, [field]: value })));
  return { ...shot, expected: [{ status: 400, param: [field] }] };
}

export function makeTooLongArray(random: SeededChoices): HttpFuzzCase {
  const endpoint = pickEndpoint(random);
  const count = random.pick([2049, 33_000, 100_001]);
  const list = random.pick([() => "x", () => 1, () => ({}), () => ({ role: "user", content: [] })]);
  const field = random.pick(["messages", "prompt", "input", "stop", "tools"]);
  const body = { ...drawValidBody(random, endpoint), [field]: Array.from({ length: count }, list) };
  return makePostCase(endpoint, Buffer.from(JSON.stringify(body)));
}

/** A valid body that is large only because of ignored fields. */
export function makeLargeValidBody(random: SeededChoices): HttpFuzzCase {
  const endpoint = pickEndpoint(random);
  const filler = random.pick(["x", "\\u0041", "[", "漢", '\\"']);
  const text = filler.repeat(Math.floor(random.between(1, 9_000_000) / Buffer.byteLength(filler)));
  const body = writeJson(drawValidBody(random, endpoint)).replace(/^\{/, () => `{"metadata":"${text}",`);
  return makePostCase(endpoint, Buffer.from(body));
}

/** A body over 10 MiB without a declared length. */
export function makeTooLargeBody(random: SeededChoices): HttpFuzzCase {
  const headers = { ...KEY_HEADERS, "transfer-encoding": "chunked" };
  const body = Buffer.alloc(10 * 1024 * 1024 + random.between(1, 100_000), 0x20);
  const expected: ExpectedResponse[] = [{ status: 413, code: "request_too_large" }];
  return { via: "agent", method: "POST", path: PATH_BY_ENDPOINT.chat, headers, body, expected };
}
