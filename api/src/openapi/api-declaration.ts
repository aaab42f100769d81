/** The definition of an API: its description, its route tables, and its schemas' names in the API document. */
import type { z } from "zod";
import type { Refusal } from "../faults.ts";
import type { Routes } from "../route-declaration.ts";
import type { Header, Parameter } from "./openapi-types.ts";

export interface Api {
  title: string;
  summary: string;
  description: string;
  tags: { name: string; description: string }[];
  credential: { name: string; scheme: Record<string, string> };
  /** Schemas of request bodies by their names in the document, with descriptions of their fields. */
  requests: Record<string, { fields: z.ZodType; words?: Record<string, string> }>;
  /** Schemas of answers by their names in the document. */
  answers: Record<string, z.ZodType>;
  tables: { tag: string; routes: Routes }[];
  /** Definitions of the parameters that guards name. */
  parameters?: Record<string, Parameter>;
  /** Headers that no other API has, and headers that this API describes in its own words. */
  headers?: Record<string, Header>;
  /** Names for error responses, in the document's order. They replace the generated names. */
  refusals?: NamedRefusals;
  /** The schema of the API's errors, if they have additional fields. */
  error?: z.ZodType;
}

/** Error responses by name, each with the errors it stands for and a title. */
export type NamedRefusals = Record<string, { title?: string; faults: readonly Refusal[] }>;
