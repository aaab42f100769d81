/** The texts whose tokens are counted: real text from installed packages, and texts designed to be slow. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const PACKAGES = fileURLToPath(new URL("../../node_modules/", import.meta.url));
const FIXTURE = new URL("../../gateway/src/metering/fixtures/token-counts.json.gz", import.meta.url);
const MIB = 1024 * 1024;

/** Joins the texts of files from installed packages, up to `bytesMax`. */
function installed(isWanted: (path: string) => boolean, bytesMax: number): string {
  let text = "";
  const paths = readdirSync(PACKAGES, { recursive: true, encoding: "utf8" }).filter(isWanted).sort();
  for (const path of paths) {
    if (text.length > bytesMax) break;
    text += readFileSync(`${PACKAGES}/${path}`, "utf8");
  }
  return text;
}

function chinese(): string {
  const rows = JSON.parse(gunzipSync(readFileSync(FIXTURE)).toString("utf8")) as { kind: string; text: string }[];
  const all = rows.filter(({ kind }) => kind === "cjk").map(({ text }) => text);
  return all.join("").repeat(40);
}

export function ordinaryTexts(): Record<string, string> {
  return {
    English: installed((path) => /readme\.md$/i.test(path), 4 * MIB),
    code: installed((path) => /(fastify|pg|zod|pino)\/.*\.js$/.test(path), 4 * MIB),
    Chinese: chinese(),
  };
}

/** Returns a generator of pseudo-random numbers below `bound`, the same in every run. */
function draws(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

function drawn(characters: number, codePointAt: (i: number, draw: (bound: number) => number) => number): string {
  const draw = draws(1);
  const parts: string[] = [];
  for (let from = 0; from < characters; from += 4096) {
    const count = Math.min(4096, characters - from);
    parts.push(String.fromCodePoint(...Array.from({ length: count }, (_, i) => codePointAt(from + i, draw))));
  }
  return parts.join("");
}

const letter = (_: number, draw: (bound: number) => number): number => 97 + draw(26);

/** Returns hostile texts of about this many bytes in UTF-8 each. */
export function hostileTexts(bytes: number): Record<string, string> {
  return {
    "one letter": "a".repeat(bytes),
    spaces: " ".repeat(bytes),
    newlines: "\n".repeat(bytes),
    "spaces, newlines": `${" ".repeat(700)}\n`.repeat(bytes / 701),
    dashes: "-".repeat(bytes),
    "one Chinese character": "的".repeat(bytes / 3),
    "random Chinese": drawn(bytes / 3, (_, draw) => 0x4e00 + draw(20_000)),
    emoji: "😀".repeat(bytes / 4),
    "halves of characters": "\ud800".repeat(bytes / 3),
    "combining marks": "\u0301\u0316".repeat(bytes / 4),
    "random letters": drawn(bytes, letter),
    "random words": drawn(bytes, (i, draw) => (i % 8 === 0 ? 32 : letter(i, draw))),
    "words without spaces": "informationgatewaytheinternationalhello".repeat(bytes / 39),
    "random bytes": Buffer.from(
      drawn(bytes * 0.6, (_, draw) => draw(256)),
      "latin1",
    ).toString("utf8"),
    "starts of special tokens": "<|".repeat(bytes / 2),
  };
}
