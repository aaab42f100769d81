/**
 * From a socket to a call and back. Every response carries the request's id; every fault becomes the error envelope; what
 * is not a fault is a bug, logged with its cause and answered with the id alone.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../base/clock.ts";
import { type NewId, publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { Fault, fault } from "../faults.ts";
import type { Call } from "../inference/call.ts";
import type { Sdk } from "../inference/endpoint.ts";
import { checkDeclaredLength, discardRest, readJson } from "./body.ts";
import { HttpReply } from "./reply.ts";

export interface DoorOptions {
  clock: Clock;
  newId: NewId;
  log: Log;
  /** The largest body it takes; 10 MiB where nothing is said. */
  bodyBytesMax?: number;
}

export interface OpenCall extends Call {
  request: IncomingMessage;
  reply: HttpReply;
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
  response.on("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  const reply = new HttpReply(response, { id, clock: door.clock });
  const call: OpenCall = {
    id,
    arrivedAt: door.clock.monotonic(),
    authorization: request.headers.authorization,
    client: clientFamily(request.headers["user-agent"]),
    sdk: sdkOf(request),
    checkDeclaredLength: () => checkDeclaredLength(request, door.bodyBytesMax),
    readJson: () => readJson(request, door.bodyBytesMax),
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
    discardRest(request, door.clock);
  }
}

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
