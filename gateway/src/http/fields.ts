/** The fields of a request by their schema, or the 400 that names the field and the rule. */
import { checkFields } from "@tollgate/api/fields.ts";
import type { z } from "zod";
import { Fault } from "../faults.ts";

export function parseFields<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const checked = checkFields(schema, body);
  if ("wrong" in checked) throw new Fault(checked.wrong);
  return checked.fields;
}

/** Which of these fields a body that was parsed has. */
export function presentOf(body: unknown, names: readonly string[]): string[] {
  const sent = body as Record<string, unknown>;
  return names.filter((name) => sent[name] != null);
}
