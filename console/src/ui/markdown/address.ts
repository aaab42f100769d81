/** Allows links in a model's answer only to web and mail addresses. Pure. */
const SAFE = new Set(["http:", "https:", "mailto:"]);

/** The address as the browser reads it; undefined where it is none, is relative, or leads elsewhere. */
export function safeAddress(text: string): string | undefined {
  // Without a base: a relative address would lead into the console itself.
  const url = URL.parse(text.trim());
  return url !== null && SAFE.has(url.protocol) ? url.href : undefined;
}
