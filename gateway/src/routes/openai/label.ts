/**
 * The builder's own word for what a request is for: `metadata.tag`, or else `user`. Nothing depends on it but sums, so one
 * that cannot be kept is no mistake of the request's: clients send these fields to every service.
 */
import { isPlain } from "@tollgate/api/plain-text.ts";

const LABEL_LENGTH_MAX = 64;

export function labelOf(body: unknown): string | null {
  const { metadata, user } = body as { metadata?: unknown; user?: unknown };
  const tag = typeof metadata === "object" && metadata !== null && "tag" in metadata ? metadata.tag : undefined;
  return kept(tag) ?? kept(user);
}

function kept(value: unknown): string | null {
  if (typeof value !== "string" || value.length > LABEL_LENGTH_MAX || !isPlain(value)) return null;
  const label = value.trim();
  return label === "" ? null : label;
}
