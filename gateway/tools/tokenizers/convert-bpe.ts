/** Converts a byte-level BPE `tokenizer.json` into an asset (the gateway's own binary format). */
import { computePieceClasses } from "./unicode.ts";
import { splitBytePlanes, writeAsset } from "./write-asset.ts";

export interface TokenizerJson {
  added_tokens: { content: string }[];
  normalizer: { type: string } | null;
  model: { ignore_merges?: boolean; vocab: Record<string, number>; merges: (string | [string, string])[] };
}

/** GPT-2's alphabet, which writes every byte as one visible character. */
function byteOfChar(): Map<string, number> {
  const visible = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
  const map = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; byte++) map.set(String.fromCharCode(visible(byte) ? byte : next++), byte);
  return map;
}

/**
 * Renumbers symbols: bytes keep their value, and merged symbols follow in the order in which merges first create them.
 * The result of a merge then needs only one bit: a new symbol, or the previous one again.
 */
function mergeSections(merges: [string, string][]): Record<string, Uint8Array> {
  const symbols = byteOfChar();
  const steps = merges.map(([left, right]) => {
    const merged = left + right;
    if (!symbols.has(merged)) {
      symbols.set(merged, symbols.size);
      return 1;
    }
    if (symbols.get(merged) !== symbols.size - 1) throw new Error("merges are not grouped by their result");
    return 0;
  });
  const symbolOf = (token: string): number => {
    const symbol = symbols.get(token);
    if (symbol === undefined) throw new Error(`nothing makes ${token}`);
    return symbol;
  };
  const tokens = [...symbols].sort(([, a], [, b]) => a - b).map(([token]) => token);
  const column = (part: 0 | 1): Uint8Array => {
    const numbers = merges.map((merge) => symbolOf(merge[part]));
    return splitBytePlanes(numbers, 3);
  };
  return {
    mergeSteps: splitBytePlanes(steps, 1),
    mergeLeft: column(0),
    mergeRight: column(1),
    mergeEager: splitBytePlanes(eagerMerges(merges), 1),
    symbolBytes: splitBytePlanes(
      tokens.map((token) => token.length),
      1,
    ),
  };
}

/**
 * For each merge, 1 if some merge that uses its result has a lower rank than some merge that creates this result. Such
 * merges are made one at a time, because the new symbol may have to be merged again at once.
 */
function eagerMerges(merges: [string, string][]): number[] {
  const lastMade = new Map(merges.map(([left, right], rank) => [left + right, rank]));
  const eager = new Set<string>();
  for (const [rank, parts] of merges.entries()) {
    for (const part of parts) if (rank < (lastMade.get(part) ?? -1)) eager.add(part);
  }
  return merges.map(([left, right]) => (eager.has(left + right) ? 1 : 0));
}

/**
 * Whether plain BPE produces this token. A slow reference implementation: merges the lowest rank first, leftmost first,
 * until nothing merges.
 */
function isReachable(token: string, ranks: Map<string, number>): boolean {
  const parts = [...token];
  while (parts.length > 1) {
    let best = Number.POSITIVE_INFINITY;
    let at = -1;
    for (let i = 0; i + 1 < parts.length; i++) {
      const rank = ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Number.POSITIVE_INFINITY;
      if (rank < best) [best, at] = [rank, i];
    }
    if (at < 0) return false;
    parts.splice(at, 2, `${parts[at]}${parts[at + 1]}`);
  }
  return true;
}

/** Texts that are a single token if they are a whole piece. */
function wholeWords(json: TokenizerJson, merges: [string, string][]): string[] {
  const bytes = byteOfChar();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const ranks = new Map(merges.map(([left, right], rank) => [`${left} ${right}`, rank]));
  const words: string[] = [];
  for (const token of Object.keys(json.model.vocab)) {
    const encoded = Uint8Array.from([...token], (char) => bytes.get(char) ?? 0);
    let text: string;
    try {
      text = decoder.decode(encoded);
    } catch {
      continue; // A token that is only part of a character is never a whole piece.
    }
    if (json.model.ignore_merges || isReachable(token, ranks)) words.push(text);
  }
  return words.sort((a, b) => (a < b ? -1 : 1));
}

export function convertBpe(file: string, json: TokenizerJson, options: { source: string; digitsMax: number }): string {
  const merges = json.model.merges.map((merge): [string, string] => {
    if (typeof merge !== "string") return merge;
    const space = merge.indexOf(" ");
    return [merge.slice(0, space), merge.slice(space + 1)];
  });
  const words = wholeWords(json, merges);
  const units = words.flatMap((word) => Array.from({ length: word.length }, (_, i) => word.charCodeAt(i)));
  const described = {
    kind: "bpe" as const,
    source: options.source,
    digitsMax: options.digitsMax,
    nfc: json.normalizer?.type === "NFC",
    tokenBytesMax: Object.keys(json.model.vocab).reduce((max, token) => Math.max(max, token.length), 0),
    merges: merges.length,
    words: words.length,
    addedTokens: json.added_tokens.map(({ content }) => content),
  };
  return writeAsset(file, described, {
    classes: computePieceClasses(),
    ...mergeSections(merges),
    wordLengths: splitBytePlanes(
      words.map((word) => word.length),
      1,
    ),
    wordUnits: splitBytePlanes(units, 2),
  });
}
