/**
 * The declaration of a route: its request, its answer and its errors. Validation, the types of handlers and clients,
 * the API document and the authorization tests are derived from it.
 */
import type { z } from "zod";
import type { FaultCode, Refusal } from "./faults.ts";
import type { Guard } from "./guards.ts";
import type { Example } from "./openapi/openapi-types.ts";
import type { Permission } from "./roles.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Route {
  /** The method and path in OpenAPI's notation: `GET /console/api/keys/{id}`. */
  at: `${Method} /${string}`;
  guard: Guard;
  /**
   * The permission that the caller needs in the account. Only for guards that act for an account (`ACCOUNT_GUARDS`).
   * The default for GET is `read`.
   */
  needs?: Permission;
  /** The tag in the API document, if it differs from the table's. */
  tag?: string;
  summary: string;
  description?: string;
  /** Descriptions of path parameters by name. */
  path?: Record<string, string>;
  query?: z.ZodObject;
  /** Descriptions of query parameters that only some lists have. */
  words?: Record<string, string>;
  body?: { fields: z.ZodType } & Examples;
  answer: Answer;
  /** The route's own errors, besides those of its guard and of its fields. */
  faults?: readonly Refusal[];
}

/** One example, or several examples by name. */
export interface Examples {
  example?: unknown;
  examples?: Record<string, Example>;
}

interface Answer extends Examples {
  /** The HTTP status. Default: 200. */
  status?: 200 | 201 | 302;
  description: string;
  /**
   * The schema of a JSON answer. It refuses unknown fields, so that tests detect undeclared ones. The API document
   * allows them.
   */
  json?: z.ZodType;
  csv?: { description: string; example: string };
  pdf?: { description: string };
  zip?: { description: string };
  /** A JSON file to download. */
  file?: { description: string };
  events?: EventStreamResponse;
  /** Response headers besides x-request-id and those of the guard. */
  headers?: readonly string[];
}

/** An answer that is a stream of server-sent events. */
export interface EventStreamResponse extends Examples {
  description: string;
  /** The events by name, each with the schema of its JSON. */
  named?: Record<string, z.ZodType>;
  /** The common schema of events without names. Errors that end the stream have another one. */
  each?: z.ZodType;
}

/** The routes of one tag by operation ID. IDs must not change, because clients are generated from them. */
export type Routes = Record<string, Route>;

/** Declares routes and keeps the literal types of the declaration. */
export const declareRoutes = <const Table extends Routes>(table: Table): Table => table;

/** Splits `PATCH /console/api/keys/{id}` into its method and its path in the notation of the HTTP server. */
export function splitMethodAndUrl({ at }: Pick<Route, "at">): { method: Method; url: string } {
  const [method, path = ""] = at.split(" ") as [Method, string?];
  return { method, url: path.replaceAll(/\{(\w+)\}/g, ":$1") };
}

/** The names of the parameters in a path. */
export type ParamsOf<At extends string> = At extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamsOf<Rest>
  : never;

/** The types of query and body for the handler: after validation, with defaults. */
export type QueryOf<R extends Route> = R extends { query: infer Q extends z.ZodType }
  ? z.output<Q>
  : Record<never, never>;
export type BodyOf<R extends Route> = R extends { body: { fields: infer B extends z.ZodType } }
  ? z.output<B>
  : undefined;

/** The types of query and body that a client sends. */
export type QueryInputOf<R extends Route> = R extends { query: infer Q extends z.ZodType } ? z.input<Q> : never;
export type BodyInputOf<R extends Route> = R extends { body: { fields: infer B extends z.ZodType } }
  ? z.input<B>
  : never;

/** The type of the JSON answer, if the route has one. */
export type ResponseJsonOf<R extends Route> = R extends { answer: { json: infer J extends z.ZodType } }
  ? z.input<J>
  : never;

/** The codes of the route's own errors. */
export type FaultCodesOf<R extends Route> = R extends { faults: readonly Refusal<infer Code>[] }
  ? Extract<Code, FaultCode>
  : never;
