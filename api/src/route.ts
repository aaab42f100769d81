/**
 * A route, declared once: what it takes, answers with and refuses with. Validation, the handler's types, the typed clients,
 * the document and the authorisation tests all come from this and nothing else.
 */
import type { z } from "zod";
import type { FaultCode, Refusal } from "./faults.ts";
import type { Guard } from "./guards.ts";
import type { Example } from "./openapi/openapi.ts";
import type { Need } from "./roles.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Route {
  /** As OpenAPI writes it: `GET /console/api/keys/{id}`. */
  at: `${Method} /${string}`;
  guard: Guard;
  /** What of the account's roles it takes, where its guard acts for an account. A GET reads, unless it says otherwise. */
  needs?: Need;
  /** Where it is not that of its table. */
  tag?: string;
  summary: string;
  description?: string;
  /** What the path's parameters are, by name. */
  path?: Record<string, string>;
  query?: z.ZodObject;
  /** What the query's fields mean, where no other list has them. */
  words?: Record<string, string>;
  body?: { fields: z.ZodType } & Shown;
  answer: Answer;
  /** Its own refusals, beside those of its guard and of what it takes. */
  faults?: readonly Refusal[];
}

/** One example, or several by their names. */
export interface Shown {
  example?: unknown;
  examples?: Record<string, Example>;
}

interface Answer extends Shown {
  /** 200 unless it says otherwise. */
  status?: 200 | 201 | 302;
  description: string;
  /** Objects refuse unknown fields, so that a test notices one that no one declared; the document leaves them open. */
  json?: z.ZodType;
  csv?: { description: string; example: string };
  pdf?: { description: string };
  events?: Events;
  /** Beside x-request-id and those of the guard. */
  headers?: readonly string[];
}

/** Server-sent events. */
export interface Events extends Shown {
  description: string;
  /** By their names, each with the schema of its JSON. */
  named?: Record<string, z.ZodType>;
  /** Without names: the one schema of them all, but for an error that ends the stream. */
  each?: z.ZodType;
}

/** The routes of one tag by their operations' ids, which are stable: clients are generated from them. */
export type Routes = Record<string, Route>;

/** Keeps the literal types of what is declared. */
export const routes = <const Table extends Routes>(table: Table): Table => table;

/** `PATCH /console/api/keys/{id}` → its method, and its path as the server writes it. */
export function methodAndUrl({ at }: Pick<Route, "at">): { method: Method; url: string } {
  const [method, path = ""] = at.split(" ") as [Method, string?];
  return { method, url: path.replaceAll(/\{(\w+)\}/g, ":$1") };
}

/** What the path's parameters are called. */
export type ParamsOf<At extends string> = At extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamsOf<Rest>
  : never;

/** The query and the body as the handler gets them: checked, with their defaults. */
export type QueryOf<R extends Route> = R extends { query: infer Q extends z.ZodType }
  ? z.output<Q>
  : Record<never, never>;
export type BodyOf<R extends Route> = R extends { body: { fields: infer B extends z.ZodType } }
  ? z.output<B>
  : undefined;

/** The same as a client sends them. */
export type QuerySent<R extends Route> = R extends { query: infer Q extends z.ZodType } ? z.input<Q> : never;
export type BodySent<R extends Route> = R extends { body: { fields: infer B extends z.ZodType } } ? z.input<B> : never;

/** What it answers with, where that is JSON. */
export type JsonOf<R extends Route> = R extends { answer: { json: infer J extends z.ZodType } } ? z.input<J> : never;

/** The codes that it may refuse with by itself. */
export type CodesOf<R extends Route> = R extends { faults: readonly Refusal<infer Code>[] }
  ? Extract<Code, FaultCode>
  : never;
