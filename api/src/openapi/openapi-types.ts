/** Types for the part of OpenAPI 3.1 that our documents use, with checks of a document. */
import type { z } from "zod";

export type Schema = z.core.JSONSchema.BaseSchema;

export interface Ref {
  $ref: string;
}

export interface Example {
  summary?: string;
  value: unknown;
}

export interface Media {
  schema: Schema | Ref;
  examples?: Record<string, Example>;
  /** The schema of an event's JSON, as an extension, because OpenAPI 3.1 has no field for it. */
  "x-event-schema"?: Schema | Ref;
  /** The schemas of events that have names. */
  "x-event-schemas"?: Record<string, Schema | Ref>;
}

export interface Header {
  description: string;
  schema: Schema;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description: string;
  schema: Schema | Ref;
}

export interface Response {
  description: string;
  headers?: Record<string, Ref>;
  content?: Record<string, Media>;
}

export interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  security?: Record<string, string[]>[];
  parameters?: (Parameter | Ref)[];
  requestBody?: { required: true; content: Record<string, Media> };
  responses: Record<string, Response | Ref>;
}

type Method = "get" | "post" | "put" | "patch" | "delete";

export interface Document {
  openapi: "3.1.0";
  info: { title: string; version: string; summary: string; description: string };
  servers: { url: string; description: string }[];
  security: Record<string, string[]>[];
  tags: { name: string; description: string }[];
  paths: Record<string, Partial<Record<Method, Operation>>>;
  components: {
    securitySchemes: Record<string, Record<string, string>>;
    schemas: Record<string, Schema>;
    responses: Record<string, Response>;
    headers: Record<string, Header>;
    parameters?: Record<string, Parameter>;
  };
}

export interface Endpoint {
  method: Method;
  path: string;
  operation: Operation;
}

export function listOperations(document: Document): Endpoint[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method: method as Method, path, operation })),
  );
}

/** The document's text as it is committed and served. */
export const formatDocument = (document: Document): string => `${JSON.stringify(document, null, 2)}\n`;

/** Finds the target of a `$ref`. Undefined if it does not exist. */
function resolve(document: Document, ref: string): unknown {
  if (!ref.startsWith("#/")) return undefined;
  let found: unknown = document;
  for (const part of ref.slice(2).split("/")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<string, unknown>)[part];
  }
  return found;
}

/** Returns the object itself, or the object that it references. */
export function resolveRef<T extends object>(document: Document, thing: T | Ref): T {
  return "$ref" in thing && typeof thing.$ref === "string" ? (resolve(document, thing.$ref) as T) : (thing as T);
}

/** Lists everything in a document that violates OpenAPI 3.1. */
export function findMistakes(document: Document): string[] {
  const mistakes: string[] = [];
  const refs = refsIn(document);
  for (const ref of refs) if (resolve(document, ref) === undefined) mistakes.push(`${ref} points nowhere`);
  for (const [kind, parts] of Object.entries(document.components)) {
    if (kind === "securitySchemes") continue;
    for (const name of Object.keys(parts)) {
      if (!/^[A-Za-z0-9._-]+$/.test(name)) mistakes.push(`components.${kind}.${name} is not a valid name`);
      if (!refs.has(`#/components/${kind}/${name}`)) mistakes.push(`components.${kind}.${name} is used nowhere`);
    }
  }
  const ids = new Set<string>();
  for (const { method, path, operation } of listOperations(document)) {
    const at = `${method} ${path}`;
    if (!path.startsWith("/")) mistakes.push(`${at}: a path begins with a slash`);
    if (ids.has(operation.operationId)) mistakes.push(`${at}: operationId ${operation.operationId} is taken`);
    ids.add(operation.operationId);
    mistakes.push(...mistakesOf(document, operation).map((mistake) => `${at}: ${mistake}`));
    mistakes.push(...mistakesOfPath(document, path, operation).map((mistake) => `${at}: ${mistake}`));
  }
  return mistakes;
}

function mistakesOf(document: Document, operation: Operation): string[] {
  const mistakes: string[] = [];
  if (!operation.operationId) mistakes.push("no operationId");
  if (!operation.summary) mistakes.push("no summary");
  const tags = new Set(document.tags.map(({ name }) => name));
  for (const tag of operation.tags) if (!tags.has(tag)) mistakes.push(`the tag ${tag} is not declared`);
  for (const need of operation.security ?? document.security) {
    for (const name of Object.keys(need)) {
      if (!Object.hasOwn(document.components.securitySchemes, name)) mistakes.push(`no security scheme ${name}`);
    }
  }
  const statuses = Object.keys(operation.responses);
  if (!statuses.some((status) => /^[23]/.test(status))) mistakes.push("there is no response for success");
  for (const [status, response] of Object.entries(operation.responses)) {
    if (!/^[1-5][0-9][0-9]$/.test(status)) mistakes.push(`${status} is not a status`);
    if (!resolveRef(document, response)?.description) mistakes.push(`${status} has no description`);
  }
  return mistakes;
}

/**
 * Finds each `{name}` in the path that is not declared as a path parameter, and each path parameter that is not in the
 * path or is declared twice.
 */
function mistakesOfPath(document: Document, path: string, { parameters = [] }: Operation): string[] {
  const named = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name ?? "");
  const given = parameters.map((parameter) => resolveRef<Parameter>(document, parameter));
  const inPath = given.filter((parameter) => parameter.in === "path").map(({ name }) => name);
  const names = given.map((parameter) => `${parameter.in} ${parameter.name}`);
  return [
    ...named.filter((name) => !inPath.includes(name)).map((name) => `{${name}} is not a parameter`),
    ...inPath.filter((name) => !named.includes(name)).map((name) => `the parameter ${name} is not in the path`),
    ...names.filter((name, i) => names.indexOf(name) !== i).map((name) => `the parameter ${name} is there twice`),
  ];
}

function refsIn(value: unknown, found: Set<string> = new Set()): Set<string> {
  if (Array.isArray(value)) for (const element of value) refsIn(element, found);
  else if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      if (key === "$ref" && typeof inner === "string") found.add(inner);
      else refsIn(inner, found);
    }
  }
  return found;
}
