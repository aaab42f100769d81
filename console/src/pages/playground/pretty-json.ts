/** Formats JSON with one member per line. Strings and numbers keep their original spelling. Pure. */
const CHARS_MAX = 200_000;
/** The maximum nesting. Deeper JSON would consist mostly of indentation. */
const DEPTH_MAX = 40;
const STEP = "  ";

/** Returns undefined if the text is not a JSON object or array, or is too large or too deeply nested. */
export function prettyJson(text: string): string | undefined {
  const json = text.trim();
  if (!/^[[{]/.test(json) || json.length > CHARS_MAX) return undefined;
  try {
    JSON.parse(json);
  } catch {
    // Most answers are not JSON, so a parse error is expected.
    return undefined;
  }
  return indented(json);
}

function indented(json: string): string | undefined {
  const parts: string[] = [];
  let depth = 0;
  let before = "";
  // The text is valid JSON, so this pattern splits it completely into strings, brackets, commas, colons and other
  // tokens.
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g)) {
    const isEnd = token === "]" || token === "}";
    if (isEnd) depth -= 1;
    // An empty object or list stays on one line.
    const opened = before === "[" || before === "{";
    if (isEnd ? !opened : opened || before === ",") parts.push("\n", STEP.repeat(depth));
    parts.push(token === ":" ? ": " : token);
    if (token === "[" || token === "{") depth += 1;
    if (depth > DEPTH_MAX) return undefined;
    before = token;
  }
  return parts.join("");
}
