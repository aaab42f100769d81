/**
 * A request for its handler: the caller, the body, the reply, and a cancel signal for a disconnected client. It is a
 * small class for speed, because each request creates one.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { CancelSource } from "../base/cancel-signal.ts";
import type { Clock } from "../base/clock.ts";
import { UnreachableError } from "../base/dependency.ts";
import { type NewId, publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { OpenFileMonitor } from "../base/open-file-limit.ts";
import type { RateLimitedLog } from "../base/rate-limited-log.ts";
import { isDatabaseUnreachable, isRetryableDatabaseError } from "../db/errors.ts";
import { Fault, fault } from "../faults.ts";
import type { Body, Call } from "../inference/call-interface.ts";
import type { ClientSdk } from "../inference/endpoint.ts";
import type { BodyBudget, BudgetShare } from "./body-budget.ts";
import { findClientAddress } from "./client-address.ts";
import { type CorsOrigins, corsHeaders } from "./cors.ts";
import { watchHalfClose } from "./half-close.ts";
import { HttpReply } from "./http-reply.ts";
import {
  BODY_BYTES_MAX,
  checkDeclaredLength,
  discardRest,
  FORM_VALUES_MAX,
  parseJson,
  readBodyPieces,
  readIfAlreadyReceived,
  SMALL_BODY_BYTES_MAX,
  UNAUTHENTICATED_BODY_BYTES_MAX,
} from "./request-body.ts";
import { detectScheme, type Scheme, strictTransportHeaders } from "./request-scheme.ts";

/** Counts every response and every error. */
export interface HttpObserver {
  /**
   * `route` is the declared path, such as `/v1/models/:id`, and empty for unknown paths. Status 499: the client
   * disconnected before the answer.
   */
  answered(answer: { method: string; route: string; status: number }): void;
  /** Called for each error sent to a client, as a status or as a stream's last event. */
  refused(known: Pick<Fault, "code" | "type" | "status">): void;
}

export interface HttpOptions {
  clock: Clock;
  newId: NewId;
  log: Log;
  /** A rate-limited log for database failures, which come in large numbers. */
  troubles: RateLimitedLog;
  bodies: LargeBodyParsing;
  /** The origins whose pages may call the public API; none by default. */
  cors?: CorsOrigins;
  /** The number of trusted proxies, each of which appends to X-Forwarded-For. */
  trustedProxies?: number;
  watch?: HttpObserver;
  /**
   * Reports when few file descriptors are left, so that requests are refused before there are none. Undefined: not
   * counted.
   */
  files?: OpenFileMonitor | undefined;
  /** The public URL. If it is HTTPS, answers have the Strict-Transport-Security header. */
  publicUrl?: string | undefined;
  /**
   * Resolves when all commits so far are in the journal (recent commits on disk). Answers wait for it, so that a
   * database failover cannot lose a confirmed change.
   */
  journaled?: (() => Promise<void>) | undefined;
  /** In tests: throws for an answer or error that the API does not declare. */
  checkAnswers?: boolean;
}

/** Memory for large bodies, and a worker thread that parses them. */
export interface LargeBodyParsing {
  budget: BodyBudget;
  /** Parses a form on a worker thread, which takes over the body's memory. Rejects with the error for the client. */
  parseForm(body: Body, payer: string): Promise<unknown>;
}

export interface OpenCall extends Call {
  request: IncomingMessage;
  reply: HttpReply;
  /** HTTP or HTTPS, by the connection or according to trusted proxies. */
  scheme: Scheme;
  /**
   * Reads and parses the body of any route except inference. The body of a caller without credentials (null) must be
   * small. Throws the errors 400, 413, 415 and 503.
   */
  readForm(payer: string | null): Promise<unknown>;
  /** The bytes of the body, to verify a signature over them. */
  readBytes(payer: string, bytesMax: number): Promise<Uint8Array>;
  /** The caller's network address, according to trusted proxies. */
  address(): string;
  /**
   * Converts a thrown error to the error for the client. Anything except a fault or an outage is a bug: it is logged
   * with its cause, and the client only gets the request ID.
   */
  faultOf(error: unknown): Fault;
  /** Releases the body's memory. Called when the answer is sent. */
  close(): void;
}

interface Sockets {
  request: IncomingMessage;
  response: ServerResponse;
  /** The path of the declared route; empty for unknown paths. */
  route?: string | undefined;
}

export const createHttpCall = (door: HttpOptions, sockets: Sockets): OpenCall => new HttpCall(door, sockets);

/** A status for metrics and records, which is never sent. */
const CLIENT_CLOSED = 499;

class HttpCall implements OpenCall {
  readonly id: Uuid;
  readonly arrivedAt: number;
  readonly request: IncomingMessage;
  readonly reply: HttpReply;
  readonly scheme: Scheme;
  readonly cancelSignal = new CancelSource();
  readonly #door: HttpOptions;
  readonly #response: ServerResponse;
  readonly #route: string;
  readonly #stopWatching: () => void;
  /**
   * For a request with Expect: 100-continue, whether its connection can be reused once the body is read. Null without
   * Expect.
   */
  readonly #keptAfterAsking: boolean | null;
  /** The memory reserved for the body, if any. */
  #share: BudgetShare | undefined;

  constructor(door: HttpOptions, { request, response, route = "" }: Sockets) {
    const { clock } = door;
    this.id = door.newId();
    this.arrivedAt = clock.monotonic();
    this.request = request;
    this.#door = door;
    this.#response = response;
    this.#route = route;
    const reply = new HttpReply(response, { id: this.id, clock });
    this.reply = reply;
    this.scheme = detectScheme(request, door.trustedProxies);
    reply.setHeaders(strictTransportHeaders(this.scheme, door.publicUrl));
    reply.setHeaders(corsHeaders(door.cors ?? [], request));
    this.#stopWatching = watchHalfClose(request, clock, () => reply.probe());
    response.on("close", () => this.#closed());
    this.#keptAfterAsking = expectsContinue(request) ? response.shouldKeepAlive : null;
    // If the gateway refuses the request instead of asking for the body, the client may send the body or leave it out.
    // The connection cannot be reused then, because the next bytes may be the body or a new request.
    if (this.#keptAfterAsking !== null) response.shouldKeepAlive = false;
  }

  get authorization(): string | undefined {
    return this.request.headers.authorization;
  }

  get headers(): IncomingMessage["headers"] {
    return this.request.headers;
  }

  get client(): string {
    return clientFamily(this.request.headers["user-agent"]);
  }

  get sdk(): ClientSdk | null {
    return sdkOf(this.request);
  }

  checkDeclaredLength(): void {
    checkDeclaredLength(this.request, BODY_BYTES_MAX);
  }

  readBody(payer: string): HttpBody | Promise<HttpBody> {
    return this.#read(payer, BODY_BYTES_MAX);
  }

  async readForm(payer: string | null): Promise<unknown> {
    const body = await this.#read(
      payer ?? "strangers",
      payer === null ? UNAUTHENTICATED_BODY_BYTES_MAX : BODY_BYTES_MAX,
    );
    return body.isSmall ? body.json(FORM_VALUES_MAX) : await this.#door.bodies.parseForm(body, payer ?? "strangers");
  }

  async readBytes(payer: string, bytesMax: number): Promise<Uint8Array> {
    const { pieces } = await this.#read(payer, bytesMax);
    // Copies the bytes, because the shared memory of a large body is reused.
    return Buffer.concat(pieces);
  }

  address(): string {
    return findClientAddress(this.request, this.#door.trustedProxies ?? 0);
  }

  faultOf(error: unknown): Fault {
    const known = faultOf(this.#door, { id: this.id, path: this.request.url ?? "" }, error);
    this.#door.watch?.refused(known);
    return known;
  }

  close(): void {
    this.#stopWatching();
    this.#share?.resize(0);
    discardRest(this.request, this.#door.clock);
  }

  /** Reads the body. May be called once; the memory stays reserved until it is released. */
  #read(payer: string, bytesMax: number): HttpBody | Promise<HttpBody> {
    const whole = this.#keptAfterAsking === null ? readIfAlreadyReceived(this.request, bytesMax) : null;
    return whole === null ? this.#gather(payer, bytesMax) : new HttpBody([whole], undefined);
  }

  async #gather(payer: string, bytesMax: number): Promise<HttpBody> {
    const share = this.#door.bodies.budget.open(payer);
    this.#share = share;
    const pieces = await readBodyPieces(this.request, {
      clock: this.#door.clock,
      bytesMax,
      room: (bytes) => share.resize(bytes),
      begin: () => this.#goOn(),
    });
    return new HttpBody(pieces, share);
  }

  #goOn(): void {
    if (this.#keptAfterAsking === null) return;
    this.#response.shouldKeepAlive = this.#keptAfterAsking;
    this.#response.writeContinue();
  }

  #closed(): void {
    const response = this.#response;
    this.#stopWatching();
    if (!response.writableFinished) this.cancelSignal.abort();
    this.#door.watch?.answered({
      method: this.request.method ?? "",
      route: this.#route,
      status: response.headersSent ? response.statusCode : CLIENT_CLOSED,
    });
  }
}

class HttpBody implements Body {
  readonly isSmall: boolean;
  readonly pieces: Uint8Array[];
  readonly #bytes: number;
  readonly #share: BudgetShare | undefined;

  constructor(pieces: Uint8Array[], share: BudgetShare | undefined) {
    this.pieces = pieces;
    this.#bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
    this.isSmall = this.#bytes <= SMALL_BODY_BYTES_MAX;
    this.#share = share;
  }

  json(valuesMax?: number): unknown {
    return parseJson(this.isSmall ? (this.pieces[0] as Uint8Array) : Buffer.concat(this.pieces), valuesMax);
  }

  keep(bytesKept: number): void {
    this.#share?.resize(Math.min(this.#bytes, bytesKept));
  }
}

/** Expect may have several values. HTTP/1.0 clients do not support it. */
const expectsContinue = ({ headers, httpVersionMinor }: IncomingMessage): boolean =>
  headers.expect !== undefined && httpVersionMinor > 0 && /(^|\W)100-continue($|\W)/i.test(headers.expect);

interface Asked {
  id: Uuid;
  path: string;
}

function faultOf({ log, troubles }: HttpOptions, { id, path }: Asked, error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (!(error instanceof UnreachableError) && !isRetryableDatabaseError(error)) return unexpected(log, id, error);
  // Outages that are already known (`Away`) are not logged here, because the database's guard logs them.
  if (!(error instanceof UnreachableError) && !isDatabaseUnreachable(error)) {
    const { message, code = "" } = error as Error & { code?: string };
    const fields = { request: publicId("req", id), code, reason: message };
    troubles.warn(code || message, fields, "database query failed");
  }
  const isInference = path.startsWith("/v1/");
  return fault("no_capacity", { message: isInference ? NOTHING_BILLED : TRY_AGAIN, cause: error });
}

const NOTHING_BILLED = "The service is temporarily unavailable. Nothing was billed; it is safe to retry.";
const TRY_AGAIN = "The service is temporarily unavailable. Try again in a moment.";

function unexpected(log: Log, id: Uuid, error: unknown): Fault {
  const name = publicId("req", id);
  log.error({ request: name, err: error }, "request failed with an internal error");
  return fault("internal_error", {
    message: `Internal error on the gateway. Include the request ID in a report: ${name}.`,
  });
}

/**
 * Shortens a User-Agent such as `OpenAI/JS 7.53.0` to `openai-js`: it names the client library without identifying
 * people.
 */
function clientFamily(userAgent: string | undefined): string {
  const match = /^([A-Za-z][A-Za-z0-9._-]{0,23})(?:\/([A-Za-z]{1,16}))?/.exec(userAgent ?? "");
  if (match === null) return "";
  const [, name = "", language] = match;
  return (language === undefined ? name : `${name}-${language}`).toLowerCase();
}

/** The name and version of the OpenAI library, which it sends in headers of its own. */
function sdkOf({ headers }: IncomingMessage): ClientSdk | null {
  const [language, version] = [headers["x-stainless-lang"], headers["x-stainless-package-version"]];
  return typeof language === "string" && typeof version === "string" ? { language, version } : null;
}
