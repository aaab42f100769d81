/** JSON with one member a line. Its texts and numbers stay as they were written, to the last digit. Pure. */
const CHARS_MAX = 200_000;
/** Deeper ones would be more indentation than text. */
const DEPTH_MAX = 40;
const STEP = "  ";

/** Undefined where the text is no JSON object or array, or is not worth it. */
export function prettyJson(text: string): string | undefined {
  const json = text.trim();
  if (!/^[[{]/.test(json) || json.length > CHARS_MAX) return undefined;
  try {
    JSON.parse(json);
  } catch {
    // Most answers are no JSON.
    return undefined;
  }
  return indented(json);
}

function indented(json: string): string | undefined {
  const parts: string[] = [];
  let depth = 0;
  let before = "";
  // Known to be JSON: strings, brackets, commas, colons, and the rest in between.
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g)) {
    const isEnd = token === "]" || token === "}";
    if (isEnd) depth -= 1;
    // What holds nothing stays together.
    const opened = before === "[" || before === "{";
    if (isEnd ? !opened : opened || before === ",") parts.push("\n", STEP.repeat(depth));
    parts.push(token === ":" ? ": " : token);
    if (token === "[" || token === "{") depth += 1;
    if (depth > DEPTH_MAX) return undefined;
    before = token;
  }
  return parts.join("");
}
