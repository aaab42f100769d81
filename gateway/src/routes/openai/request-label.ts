/**
 * The builder's label of a request: `metadata.label`, or else `user`. An invalid label is ignored, because it only
 * serves to group usage, and clients send these fields to every service.
 */
import { isPlainText } from "@tollgate/api/plain-text.ts";
import type { ParsedRequest } from "../../inference/endpoint.ts";

const LABEL_LENGTH_MAX = 64;

export function readRequestLabel(body: unknown): Pick<ParsedRequest, "label" | "labelField"> {
  const { metadata, user } = body as { metadata?: unknown; user?: unknown };
  const named = kept(
    typeof metadata === "object" && metadata !== null && "label" in metadata ? metadata.label : undefined,
  );
  if (named !== null) return { label: named, labelField: "metadata" };
  const label = kept(user);
  return { label, labelField: label === null ? null : "user" };
}

function kept(value: unknown): string | null {
  if (typeof value !== "string" || value.length > LABEL_LENGTH_MAX || !isPlainText(value)) return null;
  const label = value.trim();
  return label === "" ? null : label;
}
