/** Generates requests with correct HTTP framing whose bodies are valid or broken. */
import { ENDPOINTS, type Endpoint, PATHS, validBody } from "./bodies.ts";
import { mutate, spoilField, spoilText } from "./damage.ts";
import type { Expected } from "./expected.ts";
import { anyValue, hostileText } from "./hostile.ts";
import { anyStyle, writeJson } from "./json.ts";
import { expectedOf } from "./oracle.ts";
import type { Random } from "./random.ts";
import { type AgentShot, KEY } from "./shot.ts";

export const KEYED = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };

export const anyEndpoint = (random: Random): Endpoint =>
  random.pick([...ENDPOINTS, "chat", "chat", "completion"] as const);

export function post(endpoint: Endpoint, body: Buffer, headers: Record<string, string> = {}): AgentShot {
  const expected = expectedOf(endpoint, body);
  return { via: "agent", method: "POST", path: PATHS[endpoint], headers: { ...KEYED, ...headers }, body, expected };
}

export function valid(random: Random): AgentShot {
  const endpoint = anyEndpoint(random);
  return post(endpoint, Buffer.from(writeJson(validBody(random, endpoint))));
}

export function strangelyWritten(random: Random): AgentShot {
  const endpoint = anyEndpoint(random);
  return post(endpoint, Buffer.from(writeJson(validBody(random, endpoint), anyStyle(random), random)));
}

export function wrongField(random: Random): AgentShot {
  const endpoint = anyEndpoint(random);
  const body = spoilField(random, endpoint, validBody(random, endpoint));
  return post(endpoint, Buffer.from(writeJson(body, anyStyle(random), random)));
}

export function mutated(random: Random): AgentShot {
  const endpoint = anyEndpoint(random);
  return post(endpoint, Buffer.from(writeJson(mutate(random, validBody(random, endpoint)))));
}

export function randomJson(random: Random): AgentShot {
  const value = random.chance(0.5) ? anyValue(random) : { model: "tiny-3b", [hostileText(random)]: anyValue(random) };
  return post(anyEndpoint(random), Buffer.from(writeJson(value, anyStyle(random), random)));
}

export function spoiltText(random: Random): AgentShot {
  const endpoint = anyEndpoint(random);
  return post(endpoint, spoilText(random, writeJson(validBody(random, endpoint))));
}

/** A prompt that is longer than any context: each word is at least one token. */
export function tooLong(random: Random): AgentShot {
  const endpoint = anyEndpoint(random);
  const text = Array.from({ length: 40_000 }, (_, i) => `w${i}`).join(" ");
  const body = validBody(random, endpoint);
  const [field, value] = {
    chat: ["messages", [{ role: "user", content: text }]],
    completion: ["prompt", [text]],
    embedding: ["input", text],
  }[endpoint] as [string, unknown];
  const shot = post(endpoint, Buffer.from(JSON.stringify({ ...body, [field]: value })));
  return { ...shot, expected: [{ status: 400, param: [field] }] };
}

export function tooMuch(random: Random): AgentShot {
  const endpoint = anyEndpoint(random);
  const count = random.pick([2049, 33_000, 100_001]);
  const list = random.pick([() => "x", () => 1, () => ({}), () => ({ role: "user", content: [] })]);
  const field = random.pick(["messages", "prompt", "input", "stop", "tools"]);
  const body = { ...validBody(random, endpoint), [field]: Array.from({ length: count }, list) };
  return post(endpoint, Buffer.from(JSON.stringify(body)));
}

/** A valid body that is large only because of ignored fields. */
export function heavy(random: Random): AgentShot {
  const endpoint = anyEndpoint(random);
  const filler = random.pick(["x", "\\u0041", "[", "漢", '\\"']);
  const text = filler.repeat(Math.floor(random.between(1, 9_000_000) / Buffer.byteLength(filler)));
  const body = writeJson(validBody(random, endpoint)).replace(/^\{/, () => `{"metadata":"${text}",`);
  return post(endpoint, Buffer.from(body));
}

/** A body over 10 MiB without a declared length. */
export function tooLarge(random: Random): AgentShot {
  const headers = { ...KEYED, "transfer-encoding": "chunked" };
  const body = Buffer.alloc(10 * 1024 * 1024 + random.between(1, 100_000), 0x20);
  const expected: Expected[] = [{ status: 413, code: "request_too_large" }];
  return { via: "agent", method: "POST", path: PATHS.chat, headers, body, expected };
}
