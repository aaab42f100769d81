/**
 * The declaration of a route: what it takes, answers and refuses with. Validation, handler types, clients' types, the API document and the
 * authorisation tests are derived from it.
 */
import type { z } from "zod";
import type { FaultCode, Refusal } from "./faults.ts";
import type { Guard } from "./guards.ts";
import type { Example } from "./openapi/openapi.ts";
import type { Need } from "./roles.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Route {
  /** In OpenAPI's form: `GET /console/api/keys/{id}`. */
  at: `${Method} /${string}`;
  guard: Guard;
  /** The permission it needs, if its guard acts for an account. Default for GET: read. */
  needs?: Need;
  /** Overrides the table's tag. */
  tag?: string;
  summary: string;
  description?: string;
  /** Descriptions of path parameters by name. */
  path?: Record<string, string>;
  query?: z.ZodObject;
  /** Descriptions of query fields that not every list has. */
  words?: Record<string, string>;
  body?: { fields: z.ZodType } & Shown;
  answer: Answer;
  /** The route's own refusals, in addition to those of its guard and of its fields. */
  faults?: readonly Refusal[];
}

/** One example, or several by name. */
export interface Shown {
  example?: unknown;
  examples?: Record<string, Example>;
}

interface Answer extends Shown {
  /** Default: 200. */
  status?: 200 | 201 | 302;
  description: string;
  /** Objects refuse unknown fields, so that tests notice undeclared ones; the document allows them. */
  json?: z.ZodType;
  csv?: { description: string; example: string };
  pdf?: { description: string };
  zip?: { description: string };
  /** JSON to keep. */
  file?: { description: string };
  events?: Events;
  /** In addition to x-request-id and the guard's headers. */
  headers?: readonly string[];
}

/** A stream of server-sent events. */
export interface Events extends Shown {
  description: string;
  /** The events by name, each with the schema of its JSON. */
  named?: Record<string, z.ZodType>;
  /** For events without names: their common schema, except for an error that ends the stream. */
  each?: z.ZodType;
}

/** The routes of one tag by operation ID. IDs are stable, because clients are generated from them. */
export type Routes = Record<string, Route>;

/** Preserves the literal types of the declaration. */
export const routes = <const Table extends Routes>(table: Table): Table => table;

/** `PATCH /console/api/keys/{id}` → its method, and its path in the server's form. */
export function methodAndUrl({ at }: Pick<Route, "at">): { method: Method; url: string } {
  const [method, path = ""] = at.split(" ") as [Method, string?];
  return { method, url: path.replaceAll(/\{(\w+)\}/g, ":$1") };
}

/** The names of the path's parameters. */
export type ParamsOf<At extends string> = At extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamsOf<Rest>
  : never;

/** The query and the body as the handler gets them: checked, with defaults. */
export type QueryOf<R extends Route> = R extends { query: infer Q extends z.ZodType }
  ? z.output<Q>
  : Record<never, never>;
export type BodyOf<R extends Route> = R extends { body: { fields: infer B extends z.ZodType } }
  ? z.output<B>
  : undefined;

/** The query and the body as a client sends them. */
export type QuerySent<R extends Route> = R extends { query: infer Q extends z.ZodType } ? z.input<Q> : never;
export type BodySent<R extends Route> = R extends { body: { fields: infer B extends z.ZodType } } ? z.input<B> : never;

/** The JSON of its answer, if it is JSON. */
export type JsonOf<R extends Route> = R extends { answer: { json: infer J extends z.ZodType } } ? z.input<J> : never;

/** The codes of its own refusals. */
export type CodesOf<R extends Route> = R extends { faults: readonly Refusal<infer Code>[] }
  ? Extract<Code, FaultCode>
  : never;
