/** One request to the console on its way through a handler. */
import type { ServerResponse } from "node:http";
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import type { OpenCall } from "../door.ts";
import { parseFields } from "../fields.ts";
import { clientAddress } from "./client-address.ts";

export interface Visit {
  call: OpenCall;
  response: ServerResponse;
  /** The caller's address, seen through the proxies that are trusted. */
  address: string;
  /** Of the path: `:id`. */
  params: Record<string, string>;
  query: URLSearchParams;
  /** The body's fields, checked; 400 names the field and the rule. */
  fields<T extends z.ZodType>(schema: T): Promise<z.infer<T>>;
  json(body: object, status?: number): void;
}

export function visitOf(
  call: OpenCall,
  from: { request: FastifyRequest; response: ServerResponse; trustedProxies: number },
): Visit {
  const { request, response, trustedProxies } = from;
  return {
    call,
    response,
    address: clientAddress(request.raw, trustedProxies),
    params: request.params as Record<string, string>,
    query: new URL(request.raw.url ?? "", "http://console").searchParams,
    fields: fieldsOf(call, null),
    json: (body, status = 200) => call.reply.json(status, JSON.stringify(body)),
  };
}

/** Until a guard has found who is asking, he is a stranger. */
export function fieldsOf(call: OpenCall, payer: string | null): Visit["fields"] {
  return async (schema) => parseFields(schema, await call.readForm(payer));
}
