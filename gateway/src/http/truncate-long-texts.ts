/**
 * Truncates texts far above any form field's limit to slightly above it. The field's own rule still refuses them, but
 * quickly.
 */
import { SMALL_BODY_BYTES_MAX } from "./request-body.ts";

const KEPT_CHARS = SMALL_BODY_BYTES_MAX + 1;

export function truncateLongTexts(value: unknown): unknown {
  if (typeof value === "string") return value.length > KEPT_CHARS ? value.slice(0, KEPT_CHARS) : value;
  if (Array.isArray(value)) return value.map(truncateLongTexts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [truncateLongTexts(name), truncateLongTexts(inner)]),
  );
}
