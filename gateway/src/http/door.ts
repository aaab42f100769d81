/**
 * From a socket to a call and back. Every response carries the request's id; every fault becomes the error envelope; what
 * is not a fault is a bug, logged with its cause and answered with the id alone.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../base/clock.ts";
import { type NewId, publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
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
import { watchForLeaving } from "./half-close.ts";
import { HttpReply } from "./reply.ts";

export interface DoorOptions {
  clock: Clock;
  newId: NewId;
  log: Log;
  bodies: Bodies;
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
}

/** Runs a handler for one request and turns whatever it throws into the envelope. */
export async function through(
  door: DoorOptions,
  sockets: { request: IncomingMessage; response: ServerResponse },
  handle: (call: OpenCall) => Promise<void>,
): Promise<void> {
  const { request, response } = sockets;
  const id = door.newId();
  const gone = new AbortController();
  const reply = new HttpReply(response, { id, clock: door.clock });
  const stopWatching = watchForLeaving(request, door.clock, () => reply.probe());
  response.on("close", () => {
    stopWatching();
    if (!response.writableFinished) gone.abort();
  });
  const { read, letGo } = bodyOf(door, sockets);
  const call: OpenCall = {
    id,
    arrivedAt: door.clock.monotonic(),
    authorization: request.headers.authorization,
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
  };
  try {
    await handle(call);
  } catch (error) {
    const known = error instanceof Fault ? error : unexpected(door.log, id, error);
    reply.fault(known);
  } finally {
    stopWatching();
    letGo();
    discardRest(request, door.clock);
  }
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
