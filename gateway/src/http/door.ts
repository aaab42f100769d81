/**
 * From a socket to a call and back. Every response carries the request's id; every fault becomes the error envelope, and so
 * does what the store cannot do now: try again. What is neither is a bug, logged with its cause and answered with the id alone.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../base/clock.ts";
import { Away } from "../base/dependency.ts";
import { type NewId, publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { SparingLog } from "../base/sparing-log.ts";
import { isAway, isStorageTrouble } from "../db/errors.ts";
import { Fault, fault } from "../faults.ts";
import type { Body, Call } from "../inference/call.ts";
import type { Sdk } from "../inference/endpoint.ts";
import {
  BODY_BYTES_MAX,
  checkDeclaredLength,
  discardRest,
  FORM_VALUES_MAX,
  parseJson,
  readPieces,
  SMALL_BYTES_MAX,
  STRANGER_BYTES_MAX,
} from "./body.ts";
import type { BodyBudget } from "./body-budget.ts";
import { clientAddress } from "./client-address.ts";
import { type CorsOrigins, corsHeaders } from "./cors.ts";
import { watchForLeaving } from "./half-close.ts";
import { faultHeaders, HttpReply } from "./reply.ts";
import { schemeOf, transportHeaders } from "./scheme.ts";

/** Who is told of every answer, and keeps nothing of them but sums. */
export interface HttpWatch {
  /** `route` as it is declared (`/v1/models/:id`), or empty where there is none. 499: the client left before its answer. */
  answered(answer: { method: string; route: string; status: number }): void;
  /** A fault on its way to the client, as a status or as a stream's last event. */
  refused(known: Pick<Fault, "code" | "type" | "status">): void;
}

export interface DoorOptions {
  clock: Clock;
  newId: NewId;
  log: Log;
  /** For what the store could not do: it fails in floods. */
  troubles: SparingLog;
  bodies: Bodies;
  /** Whose pages may call the public API; nobody's unless it is said. */
  cors?: CorsOrigins;
  /** How many proxies before us add to X-Forwarded-For. */
  trustedProxies?: number;
  watch?: HttpWatch;
  /** How the gateway is known: where that is by HTTPS alone, browsers are told so. */
  publicUrl?: string | undefined;
  /** In tests: an answer or a refusal that its route does not declare is a fault of ours. */
  checkAnswers?: boolean;
}

/** What large bodies need: room, and a thread that parses those of forms. */
export interface Bodies {
  budget: BodyBudget;
  /** Takes the body's memory with it. Rejects with the fault that is due. */
  parseForm(body: Body, payer: string): Promise<unknown>;
}

export interface OpenCall extends Call {
  request: IncomingMessage;
  reply: HttpReply;
  /**
   * Reads and parses the body of anything but inference. Of a stranger (null) no more is read than a small body has; who is
   * known may send as much as on any API. Faults: 413, 415, 503, 400.
   */
  readForm(payer: string | null): Promise<unknown>;
  /** The bytes as they came, for what is signed. */
  readBytes(payer: string, bytesMax: number): Promise<Uint8Array>;
  /** The caller's address, seen through the proxies that are trusted. */
  address(): string;
  /** What the client is told of it. What is no fault and no outage is a bug: logged with its cause, answered with the id alone. */
  faultOf(error: unknown): Fault;
  /** When the answer goes out: what is left of the body is let go. */
  close(): void;
}

/** Set before anything else looks at a request. */
declare module "fastify" {
  interface FastifyRequest {
    call: OpenCall;
  }
}

/** Every request of this server becomes a call; whatever its handler throws becomes the envelope. */
export function openDoor(app: FastifyInstance, door: DoorOptions): void {
  app.decorateRequest("call");
  app.addHook("onRequest", (request, reply, done) => {
    request.call = openCall(door, { request: request.raw, response: reply.raw });
    const { watch } = door;
    if (watch !== undefined) tellOfAnswer(watch, request, reply);
    done();
  });
  app.addHook("onSend", (request, _reply, payload, done) => {
    request.call.close();
    done(null, payload);
  });
  app.setErrorHandler((error, request, reply) => {
    const known = request.call.faultOf(error);
    return reply.code(known.status).headers(faultHeaders(known)).send(known.body());
  });
}

/** A status that no client ever sees. */
const CLIENT_CLOSED = 499;

function tellOfAnswer(watch: HttpWatch, request: FastifyRequest, { raw: response }: FastifyReply): void {
  response.once("close", () => {
    const { url: route = "" } = request.routeOptions;
    watch.answered({
      method: request.method,
      route,
      status: response.headersSent ? response.statusCode : CLIENT_CLOSED,
    });
  });
}

/**
 * For answers that are written as they come: from here on the socket is the handler's own, and a fault goes out as the
 * event or the cut that is left to say it.
 */
export async function takeOver(
  { call }: FastifyRequest,
  reply: FastifyReply,
  handle: (call: OpenCall) => Promise<void> | void,
): Promise<void> {
  reply.hijack();
  await answer(call, handle);
}

/** Runs a handler that writes its answer itself. */
export async function answer(call: OpenCall, handle: (call: OpenCall) => Promise<void> | void): Promise<void> {
  try {
    await handle(call);
  } catch (error) {
    call.reply.fault(call.faultOf(error));
  } finally {
    call.close();
  }
}

export function openCall(door: DoorOptions, sockets: { request: IncomingMessage; response: ServerResponse }): OpenCall {
  const { request, response } = sockets;
  const id = door.newId();
  const gone = new AbortController();
  const reply = new HttpReply(response, { id, clock: door.clock });
  const transport = transportHeaders(schemeOf(request, door.trustedProxies), door.publicUrl);
  reply.setHeaders({ ...transport, ...corsHeaders(door.cors ?? [], request) });
  const stopWatching = watchForLeaving(request, door.clock, () => reply.probe());
  response.on("close", () => {
    stopWatching();
    if (!response.writableFinished) gone.abort();
  });
  const { read, letGo } = bodyOf(door, sockets);
  return {
    id,
    arrivedAt: door.clock.monotonic(),
    authorization: request.headers.authorization,
    headers: request.headers,
    client: clientFamily(request.headers["user-agent"]),
    sdk: sdkOf(request),
    checkDeclaredLength: () => checkDeclaredLength(request, BODY_BYTES_MAX),
    readBody: (payer) => read(payer, BODY_BYTES_MAX),
    async readForm(payer) {
      const body = await read(payer ?? "strangers", payer === null ? STRANGER_BYTES_MAX : BODY_BYTES_MAX);
      return body.isSmall ? body.json(FORM_VALUES_MAX) : await door.bodies.parseForm(body, payer ?? "strangers");
    },
    async readBytes(payer, bytesMax) {
      const { pieces } = await read(payer, bytesMax);
      return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
    },
    gone: gone.signal,
    reply,
    request,
    address: () => clientAddress(request, door.trustedProxies ?? 0),
    faultOf(error) {
      const known = faultOf(door, { id, path: request.url ?? "" }, error);
      door.watch?.refused(known);
      return known;
    },
    close() {
      stopWatching();
      letGo();
      discardRest(request, door.clock);
    },
  };
}

interface ReadBody extends Body {
  json(valuesMax?: number): unknown;
}

/** Reads the body at most once, and holds its part of the budget until it is let go. */
function bodyOf(
  { bodies }: DoorOptions,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): { read: (payer: string, bytesMax: number) => Promise<ReadBody>; letGo: () => void } {
  let letGo = (): void => {};
  const asksFirst = expectsContinue(request);
  // Whether it sends its body after a refusal is its own choice: the next request could not be told from it.
  const { shouldKeepAlive } = response;
  if (asksFirst) response.shouldKeepAlive = false;
  const goOn = (): void => {
    response.shouldKeepAlive = shouldKeepAlive;
    response.writeContinue();
  };
  return {
    letGo: () => letGo(),
    async read(payer, bytesMax) {
      const share = bodies.budget.open(payer);
      letGo = () => void share.resize(0);
      const pieces = await readPieces(request, {
        bytesMax,
        room: (bytes) => share.resize(bytes),
        begin: asksFirst ? goOn : () => {},
      });
      const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
      const isSmall = bytes <= SMALL_BYTES_MAX;
      return {
        isSmall,
        pieces,
        json: (valuesMax) => parseJson(isSmall ? (pieces[0] as Uint8Array) : Buffer.concat(pieces), valuesMax),
        keep: (bytesKept) => void share.resize(Math.min(bytes, bytesKept)),
      };
    },
  };
}

/** Among other things, perhaps. An older client does not know of it. */
const expectsContinue = ({ headers, httpVersionMinor }: IncomingMessage): boolean =>
  httpVersionMinor > 0 && /(^|\W)100-continue($|\W)/i.test(headers.expect ?? "");

interface Asked {
  id: Uuid;
  path: string;
}

function faultOf({ log, troubles }: DoorOptions, { id, path }: Asked, error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (!(error instanceof Away) && !isStorageTrouble(error)) return unexpected(log, id, error);
  // Of what is known to be away its breaker tells, once.
  if (!(error instanceof Away) && !isAway(error)) {
    const { message, code = "" } = error as Error & { code?: string };
    const fields = { request: publicId("req", id), code, reason: message };
    troubles.warn(code || message, fields, "the store could not do what a request needs");
  }
  const isInference = path.startsWith("/v1/");
  return fault("no_capacity", { message: isInference ? NOTHING_BILLED : TRY_AGAIN, cause: error });
}

const NOTHING_BILLED = "The platform cannot do this right now. Nothing was billed; it is safe to try again.";
const TRY_AGAIN = "The platform cannot do this right now. Try again in a moment.";

function unexpected(log: Log, id: Uuid, error: unknown): Fault {
  const name = publicId("req", id);
  log.error({ request: name, err: error }, "a request failed on our side");
  return fault("internal_error", { message: `Something went wrong on our side. The request's id is ${name}.` });
}

/** `OpenAI/JS 7.53.0` → `openai-js`: enough to tell clients apart, nothing that tells people apart. */
function clientFamily(userAgent: string | undefined): string {
  const match = /^([A-Za-z][A-Za-z0-9._-]{0,23})(?:\/([A-Za-z]{1,16}))?/.exec(userAgent ?? "");
  if (match === null) return "";
  return [match[1], match[2]].filter(Boolean).join("-").toLowerCase();
}

/** The libraries of this dialect name themselves in headers of their own. */
function sdkOf({ headers }: IncomingMessage): Sdk | null {
  const [language, version] = [headers["x-stainless-lang"], headers["x-stainless-package-version"]];
  return typeof language === "string" && typeof version === "string" ? { language, version } : null;
}
