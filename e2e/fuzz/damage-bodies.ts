/** Damages valid bodies: wrong types; missing, renamed or absurd fields; damaged JSON text. */

import { RawJson } from "./raw-json.ts";
import type { Body, Endpoint } from "./request-bodies.ts";
import type { SeededChoices } from "./seeded-choices.ts";
import { drawRandomValue, drawTrickyNumber, drawTrickyText } from "./tricky-values.ts";

const GENERATION_FIELDS = [
  "model",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "presence_penalty",
  "frequency_penalty",
  "seed",
  "stop",
  "n",
  "stream",
  "stream_options",
  "response_format",
  "tool_choice",
  "function_call",
];
/** The fields that the gateway validates, by endpoint. */
export const VALIDATED_FIELDS: Record<Endpoint, string[]> = {
  chat: [...GENERATION_FIELDS, "messages"],
  completion: [...GENERATION_FIELDS, "prompt"],
  embedding: ["model", "input"],
};

/** Returns a value of a random type, or one that is almost valid. */
function wrongValue(random: SeededChoices): unknown {
  const makers: (() => unknown)[] = [
    () => null,
    () => random.chance(0.5),
    () => random.pick([0, -1, 1.5, 3, 1e6]),
    () => drawTrickyNumber(random),
    () => drawTrickyText(random),
    () => [],
    () => [null],
    () => [1, 2, 3],
    () => random.times(1, 6, () => random.pick(["", "x", null, 7])),
    () => [["x"]],
    () => ({}),
    () => ({ type: random.pick(["text", "image_url", null, 1]), text: random.pick(["x", 5, null]) }),
    () => ({ include_usage: random.pick([1, "true", {}, true]) }),
    () => [{ role: random.pick(["user", "boss", 1, null]), content: random.pick(["x", 5, null, {}, [{}]]) }],
    () => ({ type: "json_schema", json_schema: random.pick([null, [], {}, spoiltSchema(random)]) }),
    () => [{ role: "user", content: [{ type: random.pick(["text", "input_audio"]), text: random.pick(["x", 1]) }, 5] }],
    () => [{ role: "assistant", content: random.pick([null, "x"]), tool_calls: random.pick([null, [], 1, {}]) }],
    () => drawRandomValue(random),
  ];
  return random.pick(makers)();
}

function spoiltSchema(random: SeededChoices): object {
  return {
    name: random.pick(["a", "", "a b", 7, "x".repeat(65)]),
    schema: random.pick([{}, null, [], true, "{}", deep(99), deep(100), deep(900), { const: "x".repeat(66_000) }]),
    strict: random.pick([null, true, "yes"]),
  };
}

/** An object nested this many levels deep. */
function deep(levels: number): object {
  return levels === 0 ? {} : { not: deep(levels - 1) };
}

/** Returns a copy of the body with invalid values in some fields. */
export function damageField(random: SeededChoices, endpoint: Endpoint, body: Body): Body {
  const spoilt: Body = { ...body };
  for (let left = random.pick([1, 1, 1, 2, 3]); left > 0; left--) {
    const field = random.pick(VALIDATED_FIELDS[endpoint]);
    if (random.chance(0.12)) delete spoilt[field];
    else spoilt[field] = wrongValue(random);
  }
  return spoilt;
}

/** Replaces, removes or moves random parts of the body. */
export function mutateBody(random: SeededChoices, body: Body): unknown {
  const copy = structuredClone(body);
  for (let left = random.between(1, 4); left > 0; left--) {
    const places = placesIn(copy);
    if (places.length === 0) return copy;
    const { holder, key } = random.pick(places);
    const held = holder as Record<string | number, unknown>;
    switch (random.between(0, 5)) {
      case 0:
        if (Array.isArray(holder)) holder.splice(Number(key), 1);
        else delete held[key];
        break;
      case 1:
        held[key] = [held[key]];
        break;
      case 2:
        if (!Array.isArray(holder)) held[drawTrickyText(random)] = held[key];
        break;
      case 3:
        held[key] = typeof held[key] === "string" ? drawTrickyText(random) + held[key] : drawTrickyNumber(random);
        break;
      default:
        held[key] = wrongValue(random);
    }
  }
  return copy;
}

function placesIn(value: unknown): { holder: object; key: string | number }[] {
  if (typeof value !== "object" || value === null || value instanceof RawJson) return [];
  const keys = Array.isArray(value) ? value.map((_, i) => i) : Object.keys(value);
  return keys.flatMap((key) => [{ holder: value, key }, ...placesIn((value as Record<string | number, unknown>)[key])]);
}

/** Damages the bytes of a JSON text. */
export function damageText(random: SeededChoices, text: string): Buffer {
  const bytes = Buffer.from(text);
  const at = random.between(0, Math.max(0, bytes.length - 1));
  const insert = (more: Uint8Array): Buffer => Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)]);
  const makers: (() => Buffer)[] = [
    () => bytes.subarray(0, at),
    () => Buffer.from(bytes.map((byte, i) => (i === at ? byte ^ (1 << random.between(0, 7)) : byte))),
    () => insert(random.bytes(random.between(1, 4))),
    () =>
      insert(random.pick([Buffer.of(0xff), Buffer.of(0xc0, 0x80), Buffer.of(0xed, 0xa0, 0x80), Buffer.of(0xf4, 0x90)])),
    () => Buffer.concat([bytes, random.pick([Buffer.from("}"), Buffer.from("\0"), bytes, Buffer.from("//")])]),
    () => Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), bytes]),
    () => Buffer.from(text, "utf16le"),
    () => Buffer.from(text.replaceAll('"', "'")),
    () => Buffer.from(text.replace(/[}\]]/, ",$&")),
    () => Buffer.from(`/* */${text}`),
    () =>
      Buffer.from(
        text.replace(/:[^,}\]]*/, random.pick([":NaN", ":+1", ":01", ":.5", ":1.", ":Infinity", ":undefined"])),
      ),
    () => Buffer.from("[".repeat(random.pick([64, 1023, 1024, 1025, 100_000]))),
    () => Buffer.from(`{"messages":`.repeat(random.pick([64, 1023, 1024, 1025, 20_000]))),
    () => nested(text, random.pick([60, 500, 1021, 1022, 1023, 1024, 1025, 1026, 9000])),
    () => Buffer.alloc(0),
    () =>
      Buffer.from(random.pick(["null", "0", '"x"', "[]", "[{}]", "true", " ", "\n", "{}", "--", "a=b&c=d", "<xml/>"])),
    () => random.bytes(random.between(1, 200)),
  ];
  return random.pick(makers)();
}

/** Adds an ignored field with a value nested `depth` levels deep. */
function nested(text: string, depth: number): Buffer {
  const inner = "[".repeat(depth) + "]".repeat(depth);
  return Buffer.from(text.replace(/^\s*\{/, `{"metadata":${inner},`));
}
