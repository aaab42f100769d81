/**
 * A request as its handler sees it: caller, body, reply, and a signal for a disconnected client. A small class, because one is created
 * per request.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { CancelSource } from "../base/cancel.ts";
import type { Clock } from "../base/clock.ts";
import { Away } from "../base/dependency.ts";
import { type NewId, publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { FileWatch } from "../base/open-files.ts";
import type { RateLimitedLog } from "../base/rate-limited-log.ts";
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
  receivedPieces,
  SMALL_BYTES_MAX,
  STRANGER_BYTES_MAX,
} from "./body.ts";
import type { BodyBudget, BudgetShare } from "./body-budget.ts";
import { clientAddress } from "./client-address.ts";
import { type CorsOrigins, corsHeaders } from "./cors.ts";
import { watchHalfClose } from "./half-close.ts";
import { HttpReply } from "./reply.ts";
import { type Scheme, schemeOf, transportHeaders } from "./scheme.ts";

/** Counts every answer. */
export interface HttpWatch {
  /** `route` as declared (`/v1/models/:id`), empty for unknown paths. 499: the client disconnected before the answer. */
  answered(answer: { method: string; route: string; status: number }): void;
  /** An error on its way to the client, as a status or as a stream's last event. */
  refused(known: Pick<Fault, "code" | "type" | "status">): void;
}

export interface DoorOptions {
  clock: Clock;
  newId: NewId;
  log: Log;
  /** For database failures, which come in floods. */
  troubles: RateLimitedLog;
  bodies: Bodies;
  /** The origins that may call the public API; none by default. */
  cors?: CorsOrigins;
  /** The number of trusted proxies that append to X-Forwarded-For. */
  trustedProxies?: number;
  watch?: HttpWatch;
  /** Refuses requests before file descriptors run out. Undefined: not counted. */
  files?: FileWatch | undefined;
  /** The public URL: with HTTPS, answers carry Strict-Transport-Security. */
  publicUrl?: string | undefined;
  /** Resolves when what was committed is in the journal. An answer waits for it, so that a failover loses no change that was confirmed. */
  journaled?: (() => Promise<void>) | undefined;
  /** In tests: an undeclared answer or error throws. */
  checkAnswers?: boolean;
}

/** Memory and a worker thread for large bodies. */
export interface Bodies {
  budget: BodyBudget;
  /** Passes the body's memory on. Rejects with the error for the client. */
  parseForm(body: Body, payer: string): Promise<unknown>;
}

export interface OpenCall extends Call {
  request: IncomingMessage;
  reply: HttpReply;
  /** The scheme, as far as it is known. */
  scheme: Scheme;
  /**
   * Reads and parses the body of everything except inference. A caller without credentials (null) is limited to a small body. Faults:
   * 413, 415, 503, 400.
   */
  readForm(payer: string | null): Promise<unknown>;
  /** The raw bytes, for signature checks. */
  readBytes(payer: string, bytesMax: number): Promise<Uint8Array>;
  /** The caller's address, according to trusted proxies. */
  address(): string;
  /**
   * The error for the client. Anything that is neither a fault nor an outage is a bug: logged with its cause, and answered with the
   * request ID only.
   */
  faultOf(error: unknown): Fault;
  /** Called when the answer is sent: releases the body. */
  close(): void;
}

interface Sockets {
  request: IncomingMessage;
  response: ServerResponse;
  /** The declared route; empty for unknown paths. */
  route?: string | undefined;
}

export const openCall = (door: DoorOptions, sockets: Sockets): OpenCall => new HttpCall(door, sockets);

/** A status that is recorded but never sent. */
const CLIENT_CLOSED = 499;

class HttpCall implements OpenCall {
  readonly id: Uuid;
  readonly arrivedAt: number;
  readonly request: IncomingMessage;
  readonly reply: HttpReply;
  readonly scheme: Scheme;
  readonly cancelSignal = new CancelSource();
  readonly #door: DoorOptions;
  readonly #response: ServerResponse;
  readonly #route: string;
  readonly #stopWatching: () => void;
  /** How many bytes a client may send after 100 Continue; null without Expect. */
  readonly #keptAfterAsking: boolean | null;
  /** The body's share of the budget, if any. */
  #share: BudgetShare | undefined;

  constructor(door: DoorOptions, { request, response, route = "" }: Sockets) {
    const { clock } = door;
    this.id = door.newId();
    this.arrivedAt = clock.monotonic();
    this.request = request;
    this.#door = door;
    this.#response = response;
    this.#route = route;
    const reply = new HttpReply(response, { id: this.id, clock });
    this.reply = reply;
    this.scheme = schemeOf(request, door.trustedProxies);
    reply.setHeaders(transportHeaders(this.scheme, door.publicUrl));
    reply.setHeaders(corsHeaders(door.cors ?? [], request));
    this.#stopWatching = watchHalfClose(request, clock, () => reply.probe());
    response.on("close", () => this.#closed());
    this.#keptAfterAsking = expectsContinue(request) ? response.shouldKeepAlive : null;
    // The client may or may not send its body after a refusal, so the connection cannot be reused.
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

  get sdk(): Sdk | null {
    return sdkOf(this.request);
  }

  checkDeclaredLength(): void {
    checkDeclaredLength(this.request, BODY_BYTES_MAX);
  }

  readBody(payer: string): HttpBody | Promise<HttpBody> {
    return this.#read(payer, BODY_BYTES_MAX);
  }

  async readForm(payer: string | null): Promise<unknown> {
    const body = await this.#read(payer ?? "strangers", payer === null ? STRANGER_BYTES_MAX : BODY_BYTES_MAX);
    return body.isSmall ? body.json(FORM_VALUES_MAX) : await this.#door.bodies.parseForm(body, payer ?? "strangers");
  }

  async readBytes(payer: string, bytesMax: number): Promise<Uint8Array> {
    const { pieces } = await this.#read(payer, bytesMax);
    // Copies of a large body, because the shared memory is reused.
    return Buffer.concat(pieces);
  }

  address(): string {
    return clientAddress(this.request, this.#door.trustedProxies ?? 0);
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

  /** Reads the body at most once, and holds its memory until it is released. */
  #read(payer: string, bytesMax: number): HttpBody | Promise<HttpBody> {
    const whole = this.#keptAfterAsking === null ? receivedPieces(this.request, bytesMax) : null;
    return whole === null ? this.#gather(payer, bytesMax) : new HttpBody([whole], undefined);
  }

  async #gather(payer: string, bytesMax: number): Promise<HttpBody> {
    const share = this.#door.bodies.budget.open(payer);
    this.#share = share;
    const pieces = await readPieces(this.request, {
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
    this.isSmall = this.#bytes <= SMALL_BYTES_MAX;
    this.#share = share;
  }

  json(valuesMax?: number): unknown {
    return parseJson(this.isSmall ? (this.pieces[0] as Uint8Array) : Buffer.concat(this.pieces), valuesMax);
  }

  keep(bytesKept: number): void {
    this.#share?.resize(Math.min(this.#bytes, bytesKept));
  }
}

/** Expect may have several values. HTTP/1.0 clients do not know it. */
const expectsContinue = ({ headers, httpVersionMinor }: IncomingMessage): boolean =>
  headers.expect !== undefined && httpVersionMinor > 0 && /(^|\W)100-continue($|\W)/i.test(headers.expect);

interface Asked {
  id: Uuid;
  path: string;
}

function faultOf({ log, troubles }: DoorOptions, { id, path }: Asked, error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (!(error instanceof Away) && !isStorageTrouble(error)) return unexpected(log, id, error);
  // The guard logs outages of the database.
  if (!(error instanceof Away) && !isAway(error)) {
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

/** `OpenAI/JS 7.53.0` → `openai-js`: distinguishes clients without identifying people. */
function clientFamily(userAgent: string | undefined): string {
  const match = /^([A-Za-z][A-Za-z0-9._-]{0,23})(?:\/([A-Za-z]{1,16}))?/.exec(userAgent ?? "");
  if (match === null) return "";
  const [, name = "", language] = match;
  return (language === undefined ? name : `${name}-${language}`).toLowerCase();
}

/** OpenAI's libraries identify themselves in their own headers. */
function sdkOf({ headers }: IncomingMessage): Sdk | null {
  const [language, version] = [headers["x-stainless-lang"], headers["x-stainless-package-version"]];
  return typeof language === "string" && typeof version === "string" ? { language, version } : null;
}
