/**
 * Registers declared routes on Fastify. Guards run before the body is read (`onRequest`), input is checked against the
 * declaration (`preValidation`), the handler gets typed input and returns the declared shape, and run-handlers.ts turns
 * errors into responses. Example: `serveRoutes(app, { door, guards }, keyRoutes, { changeKey: async ({ account, params,
 * body, refuse }) => … })`.
 */
import type { ServerResponse } from "node:http";
import { listRouteErrors } from "@tollgate/api/openapi/error-responses.ts";
import { findRequiredPermission, type Permission } from "@tollgate/api/roles.ts";
import {
  type BodyOf,
  type FaultCodesOf,
  type ParamsOf,
  type QueryOf,
  type ResponseJsonOf,
  type Route,
  splitMethodAndUrl,
} from "@tollgate/api/route-declaration.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { WaitBudget } from "../base/wait-budget.ts";
import { openConnectionWaits, withConnectionWaits } from "../db/connection-waits.ts";
import { Fault, type FaultOptions, fault, ruleViolation } from "../faults.ts";
import type { GuardChecks, GuardExceptApiKey, GuardResults } from "./guards.ts";
import type { HttpOptions, OpenCall } from "./http-call.ts";
import { parseFields } from "./parse-fields.ts";
import { streamResponse } from "./run-handlers.ts";

/** Routes whose guards `serveRoutes` runs (not the public API's). */
type Guarded = Record<string, Route & { guard: GuardExceptApiKey }>;

/** The handler's input: the caller, the request, and a function that creates the route's errors. */
export type HandlerInput<R extends Route> = GuardResults[R["guard"]] & {
  call: OpenCall;
  params: Record<ParamsOf<R["at"]>, string>;
  query: QueryOf<R>;
  /**
   * Parses the body. A handler calls it after checking that the resource belongs to the caller, so that an invalid body
   * reveals nothing.
   */
  body(): BodyOf<R>;
  /** Creates one of the route's declared errors, with the declared message unless another is given. */
  refuse(code: FaultCodesOf<R>, more?: FaultOptions): Fault;
  setHeader(name: string, value: string | string[]): void;
};

/** A file that is sent while it is produced, so that it is never in memory as a whole. */
export interface TextFile {
  name: string;
  text: AsyncIterable<string | Uint8Array>;
}

/** An answer with figures; the gateway adds their time (`as_of`) if the handler does not. */
export type WithOptionalTime<T> = T extends { as_of: number } ? Omit<T, "as_of"> & { as_of?: number } : T;

type AnswerOf<R extends Route> = R extends { answer: { json: unknown } }
  ? WithOptionalTime<ResponseJsonOf<R>>
  : R extends { answer: { csv: unknown } | { pdf: unknown } | { zip: unknown } | { file: unknown } }
    ? TextFile
    : R extends { answer: { events: unknown } }
      ? // A stream: a function that writes events to the response until it or the client ends it.
        (response: ServerResponse) => void
      : R extends { answer: { status: 302 } }
        ? { location: string }
        : never;

type Handler<R extends Route> = (asked: HandlerInput<R>) => Promise<AnswerOf<R>>;
export type Handlers<Table extends Guarded> = { [Id in keyof Table]: Handler<Table[Id]> };

interface ServeOptions<Table extends Guarded> {
  door: HttpOptions;
  guards: Pick<GuardChecks, Table[keyof Table]["guard"]>;
  /** Routes whose handlers read the body themselves through `call`. */
  ownBody?: readonly (keyof Table)[];
}

type AnyHandler = (asked: object) => Promise<unknown>;

export function serveRoutes<Table extends Guarded>(
  app: FastifyInstance,
  options: ServeOptions<Table>,
  table: Table,
  handlers: Handlers<Table>,
): void {
  const { door, ownBody = [] } = options;
  const guards = options.guards as Partial<GuardChecks>;
  const connectionWaits = openConnectionWaits(door.clock);
  for (const [id, route] of Object.entries(table)) {
    const handle = handlers[id as keyof Table] as unknown as AnyHandler;
    const guard = guards[route.guard] as (call: OpenCall, need: Permission) => Promise<object>;
    const need = findRequiredPermission(route);
    const check = door.checkAnswers === true ? contractOf(id, route) : undefined;
    const checked = <T>(step: Promise<T>): Promise<T> => (check === undefined ? step : step.catch(check.refusal));
    const readsBody = route.body !== undefined && !ownBody.includes(id as keyof Table);
    const waits = new WeakMap<FastifyRequest, WaitBudget>();
    const waiting = <T>(request: FastifyRequest, step: () => Promise<T>): Promise<T> => {
      const budget = waits.get(request) ?? connectionWaits.begin();
      waits.set(request, budget);
      return withConnectionWaits(budget, step);
    };
    const found = new WeakMap<FastifyRequest, object>();
    const sent = new WeakMap<FastifyRequest, object>();
    app.route({
      ...splitMethodAndUrl(route),
      onRequest: async (request) => {
        const guarded = waiting(request, () => guard(request.call, need));
        found.set(request, await checked(guarded));
      },
      onResponse: async (request) => waits.get(request)?.end(),
      preValidation: async (request) => {
        const query = queryOf(route, request.call);
        // If no guard identified the caller, the body has the limits for callers without credentials.
        const { payer = null } = (found.get(request) ?? {}) as { payer?: string };
        const form = readsBody ? await checked(request.call.readForm(payer)) : undefined;
        sent.set(request, { query, body: () => route.body && parseFields(route.body.fields, form) });
      },
      handler: async (request, reply) => {
        const { call } = request;
        const asked = {
          ...found.get(request),
          ...sent.get(request),
          call,
          params: request.params,
          refuse: refuserOf(route),
          setHeader: (name: string, value: string | string[]) => void reply.header(name, value),
        };
        const askedAt = door.clock.now();
        const answer = timed(route, await checked(waiting(request, () => handle(asked))), askedAt);
        await door.journaled?.();
        check?.answer(answer);
        return send(route, answer, request, reply);
      },
    });
  }
}

/** Adds the time of the figures: when reading them began, unless the handler set another time. */
function timed({ answer: { json } }: Route, answer: unknown, askedAtMs: number): unknown {
  if (!(json instanceof z.ZodObject) || !("as_of" in json.shape)) return answer;
  return { as_of: Math.floor(askedAtMs / 1000), ...(answer as object) };
}

function queryOf({ query }: Route, { request }: OpenCall): unknown {
  if (query === undefined) return {};
  const { searchParams } = new URL(request.url ?? "", "http://gateway");
  const asked = parseFields(query, Object.fromEntries(searchParams)) as { from?: unknown; to?: unknown };
  // A time span that ends before it begins is an error, not an empty list.
  if (asked.from instanceof Date && asked.to instanceof Date && asked.from > asked.to) {
    throw ruleViolation("to", 'must not be before "from"');
  }
  return asked;
}

function refuserOf({ faults = [] }: Route) {
  return (code: NonNullable<(typeof faults)[number]["code"]>, more: FaultOptions = {}): Fault => {
    const declared = faults.find((one) => one.code === code);
    return fault(code, { ...(declared !== undefined && { message: declared.message }), ...more });
  };
}

function send({ answer: declared }: Route, answer: unknown, request: FastifyRequest, reply: FastifyReply): unknown {
  reply.code(declared.status ?? 200);
  // Files and event streams are written to the raw response, so the headers that were set before are copied to it.
  const file = fileType(declared);
  if (file !== undefined || declared.events !== undefined) request.call.reply.passHeaders();
  if (file !== undefined) {
    return streamResponse(request, reply, (call) => writeFile(call, reply.raw, file, answer as TextFile));
  }
  if (declared.events !== undefined) {
    const open = answer as (response: ServerResponse) => void;
    return streamResponse(request, reply, () => open(reply.raw));
  }
  if (declared.status === 302) return reply.redirect((answer as { location: string }).location);
  return answer;
}

/** The content type of an answer that is a file; undefined for other answers. */
function fileType({ csv, pdf, zip, file }: Route["answer"]): string | undefined {
  if (csv !== undefined) return "text/csv; charset=utf-8";
  if (pdf !== undefined) return "application/pdf";
  if (zip !== undefined) return "application/zip";
  return file && "application/json; charset=utf-8";
}

/** Sends a file. It is produced only as fast as the client reads, and no further if the client disconnects. */
async function writeFile(
  { cancelSignal }: OpenCall,
  response: ServerResponse,
  type: string,
  { name, text }: TextFile,
): Promise<void> {
  response.writeHead(200, {
    "content-type": type,
    "content-disposition": `attachment; filename="${name}"`,
  });
  if (response.req.method === "HEAD") {
    response.end();
    return;
  }
  for await (const part of text) {
    if (!response.write(part) && !cancelSignal.aborted) await drained(response);
    if (cancelSignal.aborted) return;
  }
  response.end();
}

/** Resolves when the response accepts more data or is closed. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const goOn = (): void => {
      response.off("drain", goOn).off("close", goOn);
      resolve();
    };
    response.on("drain", goOn).on("close", goOn);
  });
}

/** For tests: throws for answers and errors that the route does not declare. */
function contractOf(id: string, route: Route) {
  const declared = new Set(listRouteErrors(route).map(({ status, code }) => `${status} ${code ?? ""}`));
  return {
    answer: (answer: unknown) => void route.answer.json?.parse(answer),
    refusal(error: unknown): never {
      if (error instanceof Fault && !declared.has(`${error.status} ${error.code ?? ""}`)) {
        const { status, code = "", message } = error;
        throw new Error(`route ${id} returned the error ${status} ${code}, which it does not declare: ${message}`);
      }
      throw error;
    },
  };
}
