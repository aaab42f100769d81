/** Allows links in a model's answer only to web and mail addresses. Pure. */
const SAFE = new Set(["http:", "https:", "mailto:"]);

/** The URL as the browser parses it; undefined if it is invalid, relative or not allowed. */
export function safeAddress(text: string): string | undefined {
  // Parsed without a base, because a relative address would lead into the console.
  const url = URL.parse(text.trim());
  return url !== null && SAFE.has(url.protocol) ? url.href : undefined;
}
