/** Parses a request's fields by their schema, or throws the 400 that names the invalid field and its rule. */
import { checkFields } from "@tollgate/api/fields.ts";
import type { z } from "zod";
import { Fault } from "../faults.ts";

export function parseFields<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const checked = checkFields(schema, body);
  if ("wrong" in checked) throw new Fault(checked.wrong);
  return checked.fields;
}

/** Returns those of the names that are fields of the body, unless null. */
export function presentFields(body: unknown, names: readonly string[]): string[] {
  const sent = body as Record<string, unknown>;
  return names.filter((name) => sent[name] != null);
}
