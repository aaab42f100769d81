/** An API as a table: what each endpoint takes, answers with and refuses with. Its document is made from this and nothing else. */
import type { z } from "zod";
import type { Fault } from "../../faults.ts";
import type { Method } from "./openapi.ts";

/** Who may call, and what is refused before the endpoint itself has a say. */
export interface Access {
  /** No credential is needed. */
  open: boolean;
  /** Names of parameters in the document's components that every such endpoint takes. */
  parameters: readonly string[];
  faults: readonly Fault[];
}

export interface EndpointSpec {
  /** The operation's id: stable, because clients are generated from it. */
  id: string;
  /** As OpenAPI writes it: `GET /console/api/keys/{id}`. */
  at: `${Uppercase<Method>} /${string}`;
  tag: string;
  summary: string;
  description?: string;
  access: Access;
  /** What the path's parameters are, by name. */
  path?: Record<string, string>;
  query?: z.ZodObject;
  /** What the query's fields mean, where no other list has them. */
  words?: Record<string, string>;
  body?: { fields: z.ZodType; example: unknown };
  success: Success;
  /** Its own refusals, beside those of its access and of a body. */
  faults?: readonly Fault[];
}

export interface Success {
  /** 200 unless it says otherwise. */
  status?: 200 | 201 | 302;
  description: string;
  json?: z.ZodType;
  example?: unknown;
  csv?: { description: string; example: string };
  /** Server-sent events by name, each with the schema of its JSON. */
  events?: { description: string; named: Record<string, z.ZodType>; example: string };
  /** Beside x-request-id. */
  headers?: readonly string[];
}

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
  endpoints: readonly EndpointSpec[];
}

export function methodAndPath({ at }: EndpointSpec): { method: Method; path: string } {
  const [method = "", path = ""] = at.split(" ");
  return { method: method.toLowerCase() as Method, path };
}

/** As the server writes it: `/console/api/keys/:id`. */
export const routeOf = (spec: EndpointSpec): string => spec.at.replaceAll(/\{(\w+)\}/g, ":$1");
