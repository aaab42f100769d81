/** The OpenAPI document of an API, from its declared routes. */
import type { z } from "zod";
import { accessOf } from "../guards.ts";
import type { Answer, Route } from "../route.ts";
import type { Api } from "./api.ts";
import { errorEnvelope, faultAnswers, faultsOf } from "./fault-answers.ts";
import type { Document, Header, Media, Operation, Parameter, Ref, Response } from "./openapi.ts";
import { describeFields, forAnswers, jsonSchemas, queryParameters } from "./schemas.ts";

const HEADERS: Record<string, Header> = {
  "x-request-id": {
    description: "The request's id, on every response.",
    schema: { type: "string", pattern: "^req_[0-9a-hjkmnp-tv-z]{26}$" },
  },
  "x-should-retry": {
    description: "On errors: whether a client should try again by itself.",
    schema: { type: "string", enum: ["true", "false"] },
  },
  "retry-after": {
    description: "Whole seconds to wait before trying again.",
    schema: { type: "integer", minimum: 1 },
  },
  "set-cookie": { description: "The session, or the end of it.", schema: { type: "string" } },
  location: { description: "Where the browser goes on.", schema: { type: "string" } },
  "content-disposition": {
    description: "The file's name.",
    schema: { type: "string" },
  },
};

/** A route with its place in the document. */
interface Operated extends Route {
  id: string;
  tag: string;
}

export function documentOf(api: Api): Document {
  const { title, summary, description, tags, credential, parameters = {} } = api;
  const operated = api.tables.flatMap((table) =>
    Object.entries(table.routes).map(([id, route]): Operated => ({ tag: table.tag, ...route, id })),
  );
  const refusals = new Map(operated.map((route) => [route, faultsOf(route)]));
  const answers = { ...api.answers, Error: errorEnvelope([...refusals.values()].flat()) };
  const names = new Map<z.ZodType, string>([
    ...Object.entries(api.requests).map(([name, { fields }]) => [fields, name] as const),
    ...Object.entries(answers).map(([name, schema]) => [schema, name] as const),
  ]);
  const paths: Document["paths"] = {};
  const responses: Document["components"]["responses"] = {};
  for (const [route, faults] of refusals) {
    const [method = "", path = ""] = route.at.split(" ");
    const { byStatus, shared } = faultAnswers(faults);
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(route, names, byStatus) };
    Object.assign(responses, shared);
  }
  const document: Document = {
    openapi: "3.1.0",
    info: { title, version: "1", summary, description },
    servers: [{ url: "/", description: "The gateway that serves this document." }],
    security: [{ [credential.name]: [] }],
    tags,
    paths,
    components: {
      securitySchemes: { [credential.name]: credential.scheme },
      schemas: { ...requestSchemas(api), ...jsonSchemas(answers, forAnswers) },
      responses,
      headers: {},
      ...(Object.keys(parameters).length > 0 && { parameters }),
    },
  };
  document.components.headers = usedHeaders(document);
  return document;
}

function requestSchemas({ requests }: Api): Record<string, ReturnType<typeof describeFields>> {
  const schemas = jsonSchemas(
    Object.fromEntries(Object.entries(requests).map(([name, { fields }]) => [name, fields])),
    forAnswers,
  );
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, describeFields(schema, requests[name]?.words ?? {})]),
  );
}

function usedHeaders(document: Document): Record<string, Header> {
  const text = JSON.stringify(document);
  return Object.fromEntries(Object.entries(HEADERS).filter(([name]) => text.includes(`#/components/headers/${name}"`)));
}

type Names = ReadonlyMap<z.ZodType, string>;

function operationOf(route: Operated, names: Names, refusals: Operation["responses"]): Operation {
  const { id, tag, summary, description, body, answer } = route;
  const parameters = parametersOf(route);
  return {
    operationId: id,
    summary,
    ...(description !== undefined && { description }),
    tags: [tag],
    ...(accessOf(route).open && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: true,
        content: {
          "application/json": { schema: refTo(names, body.fields), examples: { example: { value: body.example } } },
        },
      },
    }),
    responses: { [answer.status ?? 200]: answerOf(answer, names), ...refusals },
  };
}

function parametersOf(route: Route): (Parameter | Ref)[] {
  const { at, path = {}, query, words = {} } = route;
  const inPath = [...at.matchAll(/\{(\w+)\}/g)].map(([, name = ""]): Parameter => {
    const description = path[name];
    if (description === undefined) throw new Error(`${at}: {${name}} has no description`);
    return { name, in: "path", required: true, description, schema: { type: "string" } };
  });
  return [
    ...inPath,
    ...(query === undefined ? [] : queryParameters(query, words)),
    ...accessOf(route).parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

function answerOf(answer: Answer, names: Names): Response {
  const { description, json, example, csv, events, headers = [] } = answer;
  const content: Record<string, Media> = {
    ...(json !== undefined && { "application/json": jsonMedia(refTo(names, json), example) }),
    ...(csv !== undefined && {
      "text/csv": {
        schema: { type: "string", description: csv.description },
        examples: { example: { value: csv.example } },
      },
    }),
    ...(events !== undefined && { "text/event-stream": eventMedia(events, names) }),
  };
  const refs = ["x-request-id", ...headers].map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return { description, headers: Object.fromEntries(refs), ...(Object.keys(content).length > 0 && { content }) };
}

function jsonMedia(schema: Ref, example: unknown): Media {
  return example === undefined ? { schema } : { schema, examples: { example: { value: example } } };
}

function eventMedia({ description, named, example }: NonNullable<Answer["events"]>, names: Names): Media {
  const schemas = Object.entries(named).map(([event, schema]) => [event, refTo(names, schema)]);
  return {
    schema: { type: "string", description },
    "x-event-schemas": Object.fromEntries(schemas),
    examples: { example: { value: example } },
  };
}

function refTo(names: Names, schema: z.ZodType): Ref {
  const name = names.get(schema);
  if (name === undefined) throw new Error("a schema of the table has no name in the document");
  return { $ref: `#/components/schemas/${name}` };
}
