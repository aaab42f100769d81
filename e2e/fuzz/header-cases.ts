/** Generates requests with correct framing and unusual keys, methods, paths or headers. */
import { METHODS } from "node:http";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { KEY_HEADERS, makePostCase, pickEndpoint } from "./body-cases.ts";
import { type ExpectedResponse, NOT_FOUND, UNAUTHORIZED } from "./expected-response.ts";
import { FUZZ_API_KEY, type HttpFuzzCase } from "./fuzz-case.ts";
import { writeJson } from "./raw-json.ts";
import { drawValidBody, PATH_BY_ENDPOINT } from "./request-bodies.ts";
import type { SeededChoices } from "./seeded-choices.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

export function makeBadKey(random: SeededChoices): HttpFuzzCase {
  const token = (): string => `tsk_live_${random.word(12, BASE62)}_${random.word(43, BASE62)}`;
  const authorization = random.pick([
    () => "",
    () => "Bearer",
    () => "Bearer ",
    () => FUZZ_API_KEY,
    () => `Basic ${FUZZ_API_KEY}`,
    () => `Bearer ${FUZZ_API_KEY}x`,
    () => `Bearer ${FUZZ_API_KEY} ${FUZZ_API_KEY}`,
    () => `Bearer, ${FUZZ_API_KEY}`,
    () => `Bearer ${token()}`,
    () => `Bearer ${token().replace("tsk", "tht")}`,
    () => `Bearer ${token().toLowerCase()}`,
    () => `Bearer tsk_live_${random.word(random.between(0, 8000))}`,
    () => `Bearer \u00ff\u00fe${random.word(5)}`,
    () => "Bearer null",
  ])();
  const endpoint = pickEndpoint(random);
  const { authorization: _, ...headers } = KEY_HEADERS;
  const body = Buffer.from(random.chance(0.7) ? writeJson(drawValidBody(random, endpoint)) : "{");
  const withHeader = random.chance(0.9) ? { ...headers, authorization } : headers;
  return {
    via: "agent",
    method: "POST",
    path: PATH_BY_ENDPOINT[endpoint],
    headers: withHeader,
    body,
    expected: [UNAUTHORIZED],
  };
}

export function makeWrongMethodRequest(random: SeededChoices): HttpFuzzCase {
  const gets = ["/v1/models", "/v1/models/tiny-3b", "/v1/catalog/rates"];
  const path = random.pick([...Object.values(PATH_BY_ENDPOINT), ...gets]);
  const allowed = gets.includes(path) ? ["GET", "HEAD"] : ["POST"];
  const method = random.pick(METHODS.filter((method) => !allowed.includes(method) && method !== "CONNECT"));
  const hasBody = random.chance(0.4) && method !== "HEAD";
  const body = hasBody ? Buffer.from(random.pick(["{}", "x", '{"model":"tiny-3b"}'])) : null;
  const headers = random.chance(0.5)
    ? { ...KEY_HEADERS }
    : { ...KEY_HEADERS, "content-type": random.pick([";;", "", "text/plain"]) };
  // OPTIONS needs no key: a browser sends it first, without the key.
  const expected = method === "OPTIONS" ? { status: 204 } : { status: 405, allow: allowed.join(", ") };
  return { via: "agent", method, path, headers, body, expected: [expected] };
}

const MODELS: ExpectedResponse = { status: 200, answer: "models" };
const MODEL: ExpectedResponse = { status: 200, answer: "model" };
const NO_MODEL: ExpectedResponse = { status: 404, code: "model_not_found" };
const RATES: ExpectedResponse = { status: 200, answer: "rates" };
const PAGE: ExpectedResponse = { status: 200, answer: "any" };

const PLACES: [path: string, ...expected: ExpectedResponse[]][] = [
  ["/", PAGE],
  ["/v1", NOT_FOUND],
  ["/v1/", NOT_FOUND],
  ["/v1/chat/completions/", NOT_FOUND],
  ["/v1/chat%2Fcompletions", NOT_FOUND],
  ["/V1/models", NOT_FOUND],
  ["//v1/models", NOT_FOUND],
  ["/v1/models/", NO_MODEL],
  ["/v1/models/no-such", NO_MODEL],
  ["/v1/models/..%2f..", NO_MODEL],
  ["/v1/models/tiny-3b%00", NO_MODEL],
  ["/v1/models/tiny-3b", MODEL],
  ["/v1/models/large-70b?x", MODEL],
  ["/v1/models/tiny-3b/", NOT_FOUND],
  ["/v1/models;a=b", NOT_FOUND],
  ["/v1/models%00", NOT_FOUND],
  ["/v1/../v1/models", NOT_FOUND],
  ["/v1/%2e%2e/models", NOT_FOUND],
  ["/v1/%zz", NOT_FOUND],
  ["/%", NOT_FOUND],
  ["/v1/%ff%fe", NOT_FOUND],
  ["/v1/messages", NOT_FOUND],
  ["/v1/messages/count_tokens?beta=true", NOT_FOUND],
  ["/anthropic/v1/messages", NOT_FOUND],
  ["/v1/responses", NOT_FOUND],
  ["/v1/responses/resp_1", NOT_FOUND],
  ["/v1/files", NOT_FOUND],
  ["/v1/batches", NOT_FOUND],
  ["/metrics", NOT_FOUND],
  ["/healthz", NOT_FOUND],
  ["/console/api/me", { status: 401, code: "not_authenticated" }],
  ["/node/v1/nodes", { status: 401, code: "invalid_host_token" }],
  ["/v1/models?limit=%zz&__proto__=1", MODELS],
  ["/v1/mo%64els", MODELS],
  ["/v1/catalog/rates?x", RATES],
  ["/docs", PAGE],
  ["/openapi.json", PAGE],
  ["/console", PAGE],
  ["/.well-known/tollgate-receipts", PAGE],
];

export function makeNonInferenceGet(random: SeededChoices): HttpFuzzCase {
  const places: typeof PLACES = [
    ...PLACES,
    [`/v1/${random.word(random.between(1, 9000))}`, NOT_FOUND],
    [`/v1/${encodeURIComponent(random.word(3, "äß漢 \n\0\u2028"))}`, NOT_FOUND],
  ];
  const [path, ...expected] = random.pick(places);
  return { via: "agent", method: "GET", path, headers: { ...KEY_HEADERS }, body: null, expected };
}

export function makeCatalogueRequest(random: SeededChoices): HttpFuzzCase {
  const isModels = random.chance(0.5);
  const path = isModels ? "/v1/models" : "/v1/catalog/rates";
  const expected = isModels ? [MODELS] : [RATES];
  const tag = random.chance(0.2) && !isModels;
  const headers = tag ? { ...KEY_HEADERS, "if-none-match": random.pick(["*", 'W/"x", *', '"x"', ","]) } : KEY_HEADERS;
  if (tag) expected.push({ status: 304 });
  return { via: "agent", method: "GET", path, headers, body: null, expected };
}

export function makeStrangeHeaders(random: SeededChoices): HttpFuzzCase {
  const latin = (length: number): string => random.word(length, "abc ;,=\"'()<>@\\/[]?{}\u00e9\u00ff\u0080").trim();
  const headers = random.pick<() => Record<string, string>>([
    () => ({
      "content-type": random.pick(["", ";;;", "/", "a", "text/plain", "application/json; charset=utf-16", latin(60)]),
    }),
    () => ({ accept: random.pick(["text/html", "image/*", latin(500)]) }),
    () => ({ "accept-version": random.pick(["1.x", "9.9.9", latin(9)]) }),
    () => ({ "user-agent": latin(random.between(0, 4000)) }),
    () => ({ "x-stainless-lang": "js", "x-stainless-package-version": random.pick(["5.0.0", "x", latin(99)]) }),
    () => ({ cookie: latin(6000) }),
    () => ({ host: random.pick(["", "evil.example", "a:99999", latin(20)]) }),
    () => ({ "x-request-id": latin(40), "x-forwarded-for": latin(40), forwarded: latin(40) }),
    () => ({ "x-http-method-override": "DELETE", "content-md5": latin(9), range: "bytes=0-1", te: "gzip" }),
    () => ({ expect: random.pick(["100-continue", "100-Continue", "tea", "200-ok"]) }),
    () => ({ connection: "close" }),
    () => ({ "transfer-encoding": "chunked" }),
    () => Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`x-${i}`, latin(9)])),
  ])();
  const endpoint = pickEndpoint(random);
  return makePostCase(endpoint, Buffer.from(writeJson(drawValidBody(random, endpoint))), headers);
}

export function makeCompressedBody(random: SeededChoices): HttpFuzzCase {
  const endpoint = pickEndpoint(random);
  const plain = Buffer.from(writeJson(drawValidBody(random, endpoint)));
  const refused = (encoding: string, body: Buffer): HttpFuzzCase => ({
    ...makePostCase(endpoint, body, { "content-encoding": encoding }),
    expected: [{ status: 415 }],
  });
  return random.pick([
    () => refused("gzip", gzipSync(plain)),
    () => refused("br", brotliCompressSync(plain)),
    () => refused("deflate", deflateSync(plain)),
    () => refused(random.pick(["zstd", "gzip, identity", "x".repeat(500), "\u00ff"]), plain),
    () => refused("gzip", gzipSync(Buffer.alloc(1_000_000))),
    () => makePostCase(endpoint, plain, { "content-encoding": random.pick(["identity", "IDENTITY"]) }),
    // A compressed body without the header `content-encoding`.
    () => makePostCase(endpoint, gzipSync(plain)),
  ])();
}
