/** The definition of one API: its description, its route tables, and the names of schemas in its document. */
import type { z } from "zod";
import type { Refusal } from "../faults.ts";
import type { Routes } from "../route.ts";
import type { Header, Parameter } from "./openapi.ts";

export interface Api {
  title: string;
  summary: string;
  description: string;
  tags: { name: string; description: string }[];
  credential: { name: string; scheme: Record<string, string> };
  /** Request schemas by name in the document, with descriptions for their fields. */
  requests: Record<string, { fields: z.ZodType; words?: Record<string, string> }>;
  /** Answer schemas by name in the document. */
  answers: Record<string, z.ZodType>;
  tables: { tag: string; routes: Routes }[];
  /** The parameters that guards name. */
  parameters?: Record<string, Parameter>;
  /** Headers with other descriptions than the common ones, and headers that only this API has. */
  headers?: Record<string, Header>;
  /** Responses with refusals under names of its own, in the document's order. */
  refusals?: NamedRefusals;
  /** The schema of its errors, if they have additional fields. */
  error?: z.ZodType;
}

/** Names the response with these refusals, with its title. */
export type NamedRefusals = Record<string, { title?: string; faults: readonly Refusal[] }>;
