/** Generates an API's OpenAPI document from its declared routes. */
import type { z } from "zod";
import { findAccessRules } from "../guards.ts";
import type { EventStreamResponse, Examples, Route } from "../route-declaration.ts";
import type { Api, NamedRefusals } from "./api-declaration.ts";
import {
  adaptSchemaForResponses,
  convertQueryParameters,
  convertToJsonSchemas,
  describeFields,
} from "./convert-schemas.ts";
import { buildErrorResponses, listRouteErrors, makeErrorEnvelopeSchema } from "./error-responses.ts";
import type { Document, Example, Header, Media, Operation, Parameter, Ref, Response } from "./openapi-types.ts";

/** Headers that all APIs share, unless an API describes them itself. */
const HEADERS: Record<string, Header> = {
  "x-request-id": {
    description: "The request ID. Present on every response.",
    schema: { type: "string", pattern: "^req_[0-9a-hjkmnp-tv-z]{26}$" },
  },
  "x-should-retry": {
    description: "On errors: whether the client should retry automatically.",
    schema: { type: "string", enum: ["true", "false"] },
  },
  "retry-after": {
    description: "Seconds to wait before a retry.",
    schema: { type: "integer", minimum: 1 },
  },
  "set-cookie": { description: "The session cookie, or its removal.", schema: { type: "string" } },
  location: { description: "The address to redirect to.", schema: { type: "string" } },
  "content-disposition": {
    description: "The file name.",
    schema: { type: "string" },
  },
};

/** A route with its operation ID, tag and path. */
interface Operated extends Route {
  id: string;
  tag: string;
}

export function buildDocument(api: Api): Document {
  const { title, summary, description, tags, credential, parameters = {} } = api;
  const operated = api.tables.flatMap((table) =>
    Object.entries(table.routes).map(([id, route]): Operated => ({ tag: table.tag, ...route, id })),
  );
  const refusals = new Map(operated.map((route) => [route, listRouteErrors(route)]));
  const answers = { ...api.answers, Error: api.error ?? makeErrorEnvelopeSchema([...refusals.values()].flat()) };
  const names = new Map<z.ZodType, string>([
    ...Object.entries(api.requests).map(([name, { fields }]) => [fields, name] as const),
    ...Object.entries(answers).map(([name, schema]) => [schema, name] as const),
  ]);
  const paths: Document["paths"] = {};
  const responses: Document["components"]["responses"] = {};
  for (const [route, faults] of refusals) {
    const [method = "", path = ""] = route.at.split(" ");
    const { headers } = findAccessRules(route);
    const { byStatus, shared } = buildErrorResponses(faults, { named: api.refusals, headers });
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
      schemas: { ...requestSchemas(api), ...convertToJsonSchemas(answers, adaptSchemaForResponses) },
      responses: inNamedOrder(responses, api.refusals),
      headers: {},
      ...(Object.keys(parameters).length > 0 && { parameters }),
    },
  };
  document.components.headers = usedHeaders(document, { ...HEADERS, ...api.headers });
  return document;
}

function requestSchemas({ requests }: Api): Record<string, ReturnType<typeof describeFields>> {
  const schemas = convertToJsonSchemas(
    Object.fromEntries(Object.entries(requests).map(([name, { fields }]) => [name, fields])),
    adaptSchemaForResponses,
  );
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      const words = requests[name]?.words;
      return [name, words === undefined ? schema : describeFields(schema, words)];
    }),
  );
}

/** Puts the responses that an API names into the API's own order. The other responses keep their positions. */
function inNamedOrder(found: Record<string, Response>, named: NamedRefusals = {}): Record<string, Response> {
  const inOrder = Object.keys(named).filter((name) => Object.hasOwn(found, name));
  const names = Object.keys(found).map((name) => (Object.hasOwn(named, name) ? (inOrder.shift() as string) : name));
  return Object.fromEntries(names.map((name) => [name, found[name] as Response]));
}

function usedHeaders(document: Document, known: Record<string, Header>): Record<string, Header> {
  const text = JSON.stringify(document);
  return Object.fromEntries(Object.entries(known).filter(([name]) => text.includes(`#/components/headers/${name}"`)));
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
    ...(findAccessRules(route).open && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: true,
        content: { "application/json": withExamples(refTo(names, body.fields), body) },
      },
    }),
    responses: { [answer.status ?? 200]: answerOf(route, names), ...refusals },
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
    ...(query === undefined ? [] : convertQueryParameters(query, words)),
    ...findAccessRules(route).parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

function answerOf(route: Route, names: Names): Response {
  const { description, json, csv, events, headers = [] } = route.answer;
  const content: Record<string, Media> = {
    ...(json !== undefined && { "application/json": withExamples(refTo(names, json), route.answer) }),
    ...(csv !== undefined && {
      "text/csv": withExamples({ type: "string", description: csv.description }, csv),
    }),
    ...fileOf(route.answer),
    ...(events !== undefined && { "text/event-stream": eventMedia(events, names) }),
  };
  const sent = ["x-request-id", ...(findAccessRules(route).headers ?? []), ...headers];
  const refs = sent.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return { description, headers: Object.fromEntries(refs), ...(Object.keys(content).length > 0 && { content }) };
}

function fileOf({ pdf, zip, file }: Route["answer"]): Record<string, Media> {
  const kinds = { "application/pdf": pdf, "application/zip": zip, "application/json": file };
  const declared = Object.entries(kinds).flatMap(([type, of]) => (of === undefined ? [] : [[type, of] as const]));
  return Object.fromEntries(
    declared.map(([type, { description }]) => [type, { schema: { type: "string", description } }]),
  );
}

/** All examples of a body by name. */
export const listExamples = ({ example, examples }: Examples): Record<string, Example> =>
  examples ?? (example === undefined ? {} : { example: { value: example } });

function withExamples(schema: Media["schema"], shown: Examples): Media {
  const examples = listExamples(shown);
  return Object.keys(examples).length === 0 ? { schema } : { schema, examples };
}

/**
 * The body of an event stream. OpenAPI treats it as text, so the schemas of its events are added in extension fields.
 */
function eventMedia(events: EventStreamResponse, names: Names): Media {
  const { schema, examples } = withExamples({ type: "string", description: events.description }, events);
  return { schema, ...eventSchemas(events, names), ...(examples !== undefined && { examples }) };
}

function eventSchemas(events: EventStreamResponse, names: Names): Omit<Media, "schema"> {
  const { each, named = {} } = events;
  if (each !== undefined) {
    return { "x-event-schema": { anyOf: [{ ...refTo(names, each) }, { $ref: "#/components/schemas/Error" }] } };
  }
  const schemas = Object.entries(named).map(([event, schema]) => [event, refTo(names, schema)]);
  return { "x-event-schemas": Object.fromEntries(schemas) };
}

function refTo(names: Names, schema: z.ZodType): Ref {
  const name = names.get(schema);
  if (name === undefined) throw new Error("a schema of the table has no name in the document");
  return { $ref: `#/components/schemas/${name}` };
}
