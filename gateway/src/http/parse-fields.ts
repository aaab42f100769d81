/** Parses a request's fields by their schema, or throws the 400 that names the invalid field and its rule. */
import { validateFields } from "@tollgate/api/validate-fields.ts";
import type { z } from "zod";
import { Fault } from "../faults.ts";

export function parseFields<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const checked = validateFields(schema, body);
  if ("wrong" in checked) throw new Fault(checked.wrong);
  return checked.fields;
}

/** Returns which of the named fields the body contains with a value other than null. */
export function listPresentFields(body: unknown, names: readonly string[]): string[] {
  const sent = body as Record<string, unknown>;
  return names.filter((name) => sent[name] != null);
}
