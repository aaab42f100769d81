/** Restricts links in a model's answer to web and email addresses. Pure. */
const SAFE = new Set(["http:", "https:", "mailto:"]);

/** Returns the URL as the browser parses it; undefined if it is invalid, relative or not allowed. */
export function parseSafeAddress(text: string): string | undefined {
  // Parsed without a base URL, because a relative URL would lead into the console.
  const url = URL.parse(text.trim());
  return url !== null && SAFE.has(url.protocol) ? url.href : undefined;
}
