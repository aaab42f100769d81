/** One API: its words, its tables of routes, and the names that schemas have in its document. */
import type { z } from "zod";
import type { Routes } from "../route.ts";
import type { Parameter } from "./openapi.ts";

export interface Api {
  title: string;
  summary: string;
  description: string;
  tags: { name: string; description: string }[];
  credential: { name: string; scheme: Record<string, string> };
  /** The schemas that check requests, by their names in the document, and words for their fields. */
  requests: Record<string, { fields: z.ZodType; words: Record<string, string> }>;
  /** The schemas of answers, by their names in the document. */
  answers: Record<string, z.ZodType>;
  tables: { tag: string; routes: Routes }[];
  /** Those that guards name. */
  parameters?: Record<string, Parameter>;
}
