/**
 * For tests: sees every answer of an API, holds it against the API's document, and remembers what was seen, so that what is
 * documented and never answered shows too.
 */
import assert from "node:assert/strict";
import {
  type Document,
  type Endpoint,
  follow,
  type Media,
  type Operation,
  operationsOf,
  type Response,
  type Schema,
} from "../openapi.ts";
import { misfits } from "./fits.ts";

export interface SeenAnswer {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  text: string;
}

/** `listKeys 200`, `listKeys 401 not_authenticated`. */
const sightOf = (id: string, status: number | string, code?: string): string =>
  [id, status, ...(code === undefined ? [] : [code])].join(" ");

export class Witness {
  readonly #document: Document;
  readonly #routes: (Endpoint & { matches: RegExp })[];
  readonly #seen = new Set<string>();

  constructor(document: Document) {
    this.#document = document;
    this.#routes = operationsOf(document).map((endpoint) => ({
      ...endpoint,
      matches: new RegExp(`^${endpoint.path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
    }));
  }

  /** Throws what the document does not say. */
  take(method: string, url: string, answer: SeenAnswer): void {
    const path = url.split("?")[0] ?? "";
    // `/requests/x` is none of `/requests.csv`, and a path without parameters goes before one with them.
    const found = this.#routes
      .filter((route) => route.method === method.toLowerCase() && route.matches.test(path))
      .sort((a, b) => a.path.split("{").length - b.path.split("{").length)[0];
    assert.ok(found !== undefined, `${method} ${path} is not documented`);
    this.#check(found.operation, answer);
  }

  /** An event of a stream. */
  takeEvent(id: string, name: string, data: unknown): void {
    const { operation } = this.#routes.find((route) => route.operation.operationId === id) as Endpoint;
    const response = follow<Response>(this.#document, operation.responses[200] as Response);
    const schema = response.content?.["text/event-stream"]?.["x-event-schemas"]?.[name];
    assert.ok(schema !== undefined, `${id} has no event ${name}`);
    assert.deepEqual(misfits(this.#document, schema as Schema, data), [], `${id} ${name}`);
    this.#seen.add(sightOf(id, 200, name));
  }

  #check({ operationId: id, responses }: Operation, { status, headers, text }: SeenAnswer): void {
    const documented = responses[status];
    assert.ok(documented !== undefined, `${id} answers ${status}, which is not documented: ${text}`);
    const response = follow<Response>(this.#document, documented);
    for (const name of status < 400 ? ["x-request-id"] : Object.keys(response.headers ?? {})) {
      // A wait is told only where there is one.
      if (name !== "retry-after" || status === 429) assert.ok(headers[name] !== undefined, `${id} ${status}: ${name}`);
    }
    if (response.content === undefined) assert.equal(text, "", `${id} ${status} has no body`);
    else this.#checkBody(`${id} ${status}`, response.content, { headers, text });
    this.#seen.add(status < 400 ? sightOf(id, status) : sightOf(id, status, codeIn(text)));
    if (status < 400) return;
    const codes = Object.keys(response.content?.["application/json"]?.examples ?? {});
    assert.ok(codes.includes(codeIn(text)), `${id} ${status} is not documented with ${codeIn(text)}: ${codes}`);
  }

  #checkBody(at: string, content: Record<string, Media>, { headers, text }: Omit<SeenAnswer, "status">): void {
    const type = String(headers["content-type"]).split(";")[0] ?? "";
    const media = content[type];
    assert.ok(media !== undefined, `${at} is ${type}, which is not documented`);
    if (type !== "application/json") return;
    assert.deepEqual(misfits(this.#document, media.schema as Schema, JSON.parse(text)), [], `${at}: ${text}`);
  }

  /** Everything documented that no answer has shown. */
  unseen(): string[] {
    const documented = operationsOf(this.#document).flatMap(({ operation: { operationId: id, responses } }) =>
      Object.entries(responses).flatMap(([status, response]) => {
        const { content = {} } = follow<Response>(this.#document, response);
        if (Number(status) < 400) {
          const events = Object.keys(content["text/event-stream"]?.["x-event-schemas"] ?? {});
          return [sightOf(id, status), ...events.map((event) => sightOf(id, status, event))];
        }
        return Object.keys(content["application/json"]?.examples ?? {}).map((code) => sightOf(id, status, code));
      }),
    );
    return documented.filter((sight) => !this.#seen.has(sight));
  }
}

function codeIn(text: string): string {
  const { error } = JSON.parse(text) as { error: { type: string; code?: string } };
  return error.code ?? error.type;
}
