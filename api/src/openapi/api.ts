/** One API: its words, its tables of routes, and the names that schemas have in its document. */
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
  /** The schemas that check requests, by their names in the document, and words for fields that do not describe themselves. */
  requests: Record<string, { fields: z.ZodType; words?: Record<string, string> }>;
  /** The schemas of answers, by their names in the document. */
  answers: Record<string, z.ZodType>;
  tables: { tag: string; routes: Routes }[];
  /** Those that guards name. */
  parameters?: Record<string, Parameter>;
  /** Those that it describes in words of its own, and those that only it has. */
  headers?: Record<string, Header>;
  /** What it refuses with under names of its own, in the order of the document. */
  refusals?: NamedRefusals;
  /** The schema of its errors, where they say more than others do. */
  error?: z.ZodType;
}

/** A route's faults of one status get the name of those that are the same, and their title. */
export type NamedRefusals = Record<string, { title?: string; faults: readonly Refusal[] }>;
