/**
 * One request as its handler sees it: who asks, the body when its turn comes, the reply, and whether anyone still waits for it. A
 * class, and nothing that it may not need: it is made for every request.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { CancelSource } from "../base/cancel.ts";
import type { Clock } from "../base/clock.ts";
import { Away } from "../base/dependency.ts";
import { type NewId, publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { FileWatch } from "../base/open-files.ts";
import type { SparingLog } from "../base/sparing-log.ts";
import { isAway, isStorageTrouble } from "../db/errors.ts";
import { Fault, fault } from "../faults.ts";
import type { Body, Call } from "../inference/call.ts";
import type { Sdk } from "../inference/endpoint.ts";
import {
  atHand,
  BODY_BYTES_MAX,
  checkDeclaredLength,
  discardRest,
  FORM_VALUES_MAX,
  parseJson,
  readPieces,
  SMALL_BYTES_MAX,
  STRANGER_BYTES_MAX,
} from "./body.ts";
import type { BodyBudget, BudgetShare } from "./body-budget.ts";
import { clientAddress } from "./client-address.ts";
import { type CorsOrigins, corsHeaders } from "./cors.ts";
import { watchForLeaving } from "./half-close.ts";
import { HttpReply } from "./reply.ts";
import { type Scheme, schemeOf, transportHeaders } from "./scheme.ts";

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
  /** For what the database could not do: it fails in floods. */
  troubles: SparingLog;
  bodies: Bodies;
  /** Whose pages may call the public API; no one's unless it is said. */
  cors?: CorsOrigins;
  /** How many proxies before us add to X-Forwarded-For. */
  trustedProxies?: number;
  watch?: HttpWatch;
  /** Refuses requests before file descriptors run out. Undefined: no one counts them. */
  files?: FileWatch | undefined;
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
  /** How it came, as far as is known here. */
  scheme: Scheme;
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

interface Sockets {
  request: IncomingMessage;
  response: ServerResponse;
  /** As it is declared; empty where there is none. */
  route?: string | undefined;
}

export const openCall = (door: DoorOptions, sockets: Sockets): OpenCall => new HttpCall(door, sockets);

/** A status that no client ever sees. */
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
  /** What a client that asks first may have of its connection once it was told to go on; null where it does not ask. */
  readonly #keptAfterAsking: boolean | null;
  /** Of the budget, where the body takes any. */
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
    this.#stopWatching = watchForLeaving(request, clock, () => reply.probe());
    response.on("close", () => this.#closed());
    this.#keptAfterAsking = expectsContinue(request) ? response.shouldKeepAlive : null;
    // Whether it sends its body after a refusal is its own choice: the next request could not be told from it.
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
    // Of a large one, not the shared memory itself.
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

  /** Reads the body at most once, and holds its part of the budget until it is let go. */
  #read(payer: string, bytesMax: number): HttpBody | Promise<HttpBody> {
    const whole = this.#keptAfterAsking === null ? atHand(this.request, bytesMax) : null;
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

/** Among other things, perhaps. An older client does not know of it. */
const expectsContinue = ({ headers, httpVersionMinor }: IncomingMessage): boolean =>
  headers.expect !== undefined && httpVersionMinor > 0 && /(^|\W)100-continue($|\W)/i.test(headers.expect);

interface Asked {
  id: Uuid;
  path: string;
}

function faultOf({ log, troubles }: DoorOptions, { id, path }: Asked, error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (!(error instanceof Away) && !isStorageTrouble(error)) return unexpected(log, id, error);
  // Of what is known to be unreachable its breaker tells, once.
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

/** `OpenAI/JS 7.53.0` → `openai-js`: enough to tell clients apart, nothing that tells people apart. */
function clientFamily(userAgent: string | undefined): string {
  const match = /^([A-Za-z][A-Za-z0-9._-]{0,23})(?:\/([A-Za-z]{1,16}))?/.exec(userAgent ?? "");
  if (match === null) return "";
  const [, name = "", language] = match;
  return (language === undefined ? name : `${name}-${language}`).toLowerCase();
}

/** The libraries of this dialect name themselves in headers of their own. */
function sdkOf({ headers }: IncomingMessage): Sdk | null {
  const [language, version] = [headers["x-stainless-lang"], headers["x-stainless-package-version"]];
  return typeof language === "string" && typeof version === "string" ? { language, version } : null;
}
