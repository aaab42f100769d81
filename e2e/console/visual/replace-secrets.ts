/** Replaces each ID and secret by a numbered one, the same everywhere, so that a recording contains no secret. */
import type { RecordedResponse } from "./recording-files.ts";

/**
 * The kinds of IDs and secrets. Each makes its replacement from a number, as long as the original, so that pages keep
 * their layout.
 */
const KINDS: { pattern: RegExp; replacement: (found: string, number: number) => string }[] = [
  {
    // Matches an ID such as `key_06dfk3v8qe7z2m4x9t1c5n0bga`.
    pattern: /\b(?:[a-z]{2,8}_|chatcmpl-)[0-7][0-9a-hjkmnp-tv-z]{25}\b/g,
    replacement: (id, number) => `${id.slice(0, -26)}${String(number).padStart(26, "0")}`,
  },
  {
    // Matches a key or host token, complete or only the beginning that lists show.
    pattern: /\bt(?:sk|ht)_live_\w+/g,
    replacement: (secret, number) => `${secret.slice(0, 9)}${fill("Example", number, secret.length - 9)}`,
  },
  {
    // Matches other long random strings: session tokens and tokens in links.
    pattern: /(?<=")(?!t(?:sk|ht)_live_)(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{20,}={0,2}(?=")/g,
    replacement: (text, number) => fill("example", number, text.length),
  },
];

const fill = (word: string, number: number, length: number): string =>
  `${word}${String(number).padStart(Math.max(0, length - word.length), "0")}`.slice(-length);

/** Replaces secrets in the order of the requests, so that the same recording always gets the same numbers. */
export function replaceSecrets(answers: RecordedResponse[]): RecordedResponse[] {
  let text = JSON.stringify(answers);
  for (const { pattern, replacement } of KINDS) {
    const known = new Map<string, string>();
    text = text.replaceAll(pattern, (found) => {
      const made = known.get(found) ?? replacement(found, known.size + 1);
      known.set(found, made);
      return made;
    });
  }
  return JSON.parse(text);
}
