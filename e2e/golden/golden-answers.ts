/**
 * Compares responses with golden files, byte for byte. Only this file replaces values that differ from run to run. A
 * missing golden file fails the test; `UPDATE_GOLDEN=1` writes all files again.
 */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { RawResponse } from "@tollgate/stage/raw-http.ts";

/** The response headers that the contract defines. */
const HEADERS = [
  "content-type",
  "cache-control",
  "x-accel-buffering",
  "allow",
  "retry-after",
  "x-should-retry",
  "x-request-id",
  "x-tollgate-ignored",
  "x-ratelimit-limit-requests",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-reset-requests",
  "x-ratelimit-limit-tokens",
  "x-ratelimit-remaining-tokens",
  "x-ratelimit-reset-tokens",
];

/**
 * Removes headers that are not in `HEADERS`. Replaces values that differ from run to run, such as IDs, times and
 * speeds, with placeholders such as `<26 characters>`.
 */
function settled({ status, headers, text, isWhole }: RawResponse): RawResponse {
  const waits = /"code":"rate_limit_(requests|tokens)"/.test(text);
  const compared = HEADERS.flatMap((name) => {
    const value = headers[name];
    if (value === undefined) return [];
    return [[name, settledHeader(name, value, waits)] as const];
  });
  const steady = text
    .replace(/\b(req_|chatcmpl-|cmpl-)[0-9a-hjkmnp-tv-z]{26}\b/g, "$1<26 characters>")
    .replace(/(Model \\")(?:[^"\\]|\\\\)*(\\" does not exist)/g, "$1<model>$2")
    .replace(/("object":"(?:chat\.completion(?:\.chunk)?|text_completion)","created":)\d+/g, '$1"<Unix seconds>"')
    .replace(/("(?:ttft_p50_ms|tps_p50)":)(?:null|[\d.]+)/g, '$1"<number or null>"')
    .replace(/("structured_output":)(?:true|false)/g, '$1"<boolean>"')
    .replace(/("embedding":)\[([-\d.e,]+)\]/g, (_, key, values) => `${key}"<${values.split(",").length} numbers>"`);
  return { status, headers: Object.fromEntries(compared), text: steady, isWhole };
}

function settledHeader(name: string, value: string, waits: boolean): string {
  if (name === "x-request-id") return value.replace(/^req_[0-9a-hjkmnp-tv-z]{26}$/, "req_<26 characters>");
  if (name.startsWith("x-ratelimit-remaining")) return value.replace(/^[1-9]\d*$/, "<count>");
  if (name.startsWith("x-ratelimit-reset")) return value.replace(/^(\d+ms|\d+(\.\d+)?s|1m0s)$/, "<duration>");
  if (name === "retry-after" && waits) return value.replace(/^([1-9]|[1-5]\d|60)$/, "<seconds to the next minute>");
  return value;
}

/** Compares status, headers and body of a JSON answer. */
export async function assertGoldenAnswer(name: string, got: RawResponse): Promise<void> {
  const { status, headers, text } = settled(got);
  const body = JSON.parse(text);
  assert.equal(JSON.stringify(body), text, "the body is compact JSON");
  await assertGolden(`${name}.json`, `${JSON.stringify({ status, headers, body }, null, 2)}\n`);
}

/**
 * Compares status, headers and every byte of a stream. Consecutive chunks of text are joined first, because pieces that
 * arrive together are sent as one event.
 */
export async function assertGoldenStream(name: string, got: RawResponse): Promise<void> {
  const { status, headers, text, isWhole } = settled(got);
  const head = Object.entries(headers).map(([header, value]) => `${header}: ${value}\n`);
  await assertGolden(
    `${name}.txt`,
    `${status}\n${head.join("")}\n${joined(text)}${isWhole ? "" : "<the connection is cut>\n"}`,
  );
}

/** Matches the text of a chunk that contains only text. */
const PIECE = /"(?:content|text)":"((?:[^"\\]|\\.)+)"(?=[^"]*(?:"finish_reason":null|,"logprobs"|\}))/;

function joined(stream: string): string {
  const events: string[] = [];
  for (const event of stream.split("\n\n")) {
    const before = events.at(-1);
    const [piece, earlier] = [PIECE.exec(event)?.[1], PIECE.exec(before ?? "")?.[1]];
    const isSame = before?.replace(PIECE, "") === event.replace(PIECE, "");
    if (before === undefined || piece === undefined || earlier === undefined || !isSame) events.push(event);
    else events[events.length - 1] = before.replace(`"${earlier}"`, () => `"${earlier}${piece}"`);
  }
  return events.join("\n\n");
}

/** During an update, the first response writes the golden file, and later ones are compared with it. */
const updates = new Map<string, Promise<void>>();

async function update(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

async function assertGolden(name: string, actual: string): Promise<void> {
  const file = fileURLToPath(new URL(name, import.meta.url));
  if (process.env.UPDATE_GOLDEN === "1") {
    const updating = updates.get(name) ?? update(file, actual);
    updates.set(name, updating);
    await updating;
  }
  const expected = await readFile(file, "utf8").catch((cause) => {
    throw new Error(`there is no golden file ${name}; UPDATE_GOLDEN=1 writes it`, { cause });
  });
  assert.equal(actual, expected, `e2e/golden/${name}`);
}
