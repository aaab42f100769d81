/**
 * Answers malformed, slow or oversized HTTP with the error envelope and closes the connection. If another answer is
 * still being sent on the connection, it is completed first.
 */
import type { Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { slowBodyError } from "@tollgate/api/faults.ts";
import type { Clock } from "../base/clock.ts";
import { type NewId, publicId } from "../base/ids.ts";
import type { HttpObserver } from "./http-call.ts";

/** Node's code for headers that did not arrive in time. */
const LATE_HEADERS = "ERR_HTTP_REQUEST_TIMEOUT";
/** How long a refused client has to read the answer before the connection is closed. */
const LINGER_MS = 2_000;

interface BrokenRequests {
  /** A listener for the server's `clientError` event. */
  refuse(error: NodeJS.ErrnoException, socket: Duplex): void;
  watch(server: Server): void;
}

interface BrokenOptions {
  clock: Clock;
  newId: NewId | undefined;
  watch: HttpObserver | undefined;
}

export function answerBrokenRequests({ clock, newId, watch }: BrokenOptions): BrokenRequests {
  /** Requests and answers in progress per connection, in order. */
  const open = new WeakMap<Duplex, ServerResponse[]>();
  const refused = new WeakSet<Duplex>();

  const leave = (socket: Duplex, lastWords = ""): void => {
    socket.end(lastWords);
    const stopTimer = clock.after(LINGER_MS, () => socket.destroy());
    socket.once("close", stopTimer);
  };

  const answer = (socket: Duplex, [status = "", text, ...headers]: string[]): void => {
    // The method and route are empty, because neither could be parsed.
    watch?.answered({ method: "", route: "", status: Number.parseInt(status, 10) });
    const body = JSON.stringify({ error: { message: text, type: "invalid_request_error" } });
    const head = [
      `HTTP/1.1 ${status}`,
      ...(newId === undefined ? [] : [`x-request-id: ${publicId("req", newId())}`]),
      ...headers,
      "content-type: application/json; charset=utf-8",
      `content-length: ${Buffer.byteLength(body)}`,
      "x-should-retry: false",
      "connection: close",
    ];
    leave(socket, `${head.join("\r\n")}\r\n\r\n${body}`);
  };

  const refuse = (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (socket.destroyed || refused.has(socket)) return;
    refused.add(socket);
    const inFlight = (open.get(socket) ?? []).filter((response) => !isSettled(response)).findLast(isDue);
    if (inFlight === undefined) answer(socket, refusalOf(error));
    else if (inFlight.writableFinished) leave(socket);
    else inFlight.once("close", () => leave(socket));
  };

  return {
    refuse(error, socket) {
      if (error.code !== LATE_HEADERS) return refuse(error, socket);
      // After a pause of this process, headers that arrived in time may still be unread. The event loop reads them before
      // it calls this function.
      const latest = open.get(socket)?.at(-1);
      setImmediate(() => {
        if (open.get(socket)?.at(-1) === latest) refuse(error, socket);
      });
    },

    watch(server) {
      server.on("request", (request, response) => {
        const asked = open.get(request.socket);
        if (asked === undefined) {
          open.set(request.socket, [response]);
          return;
        }
        while (asked[0] !== undefined && isSettled(asked[0])) asked.shift();
        asked.push(response);
      });
      // Without this listener, Node would close CONNECT connections without an answer.
      server.on("connect", (_request, socket) => {
        answer(socket, ["405 Method Not Allowed", "CONNECT is not supported.", "allow: GET, POST"]);
      });
    },
  };
}

const isSettled = ({ writableFinished, req }: ServerResponse): boolean => writableFinished && req.complete;
/**
 * True if the client gets an answer to this request itself, because the request is complete or its answer has started.
 */
const isDue = ({ headersSent, req }: ServerResponse): boolean => headersSent || req.complete;

function refusalOf({ code }: NodeJS.ErrnoException): string[] {
  if (code === "HPE_HEADER_OVERFLOW") {
    return ["431 Request Header Fields Too Large", "The request headers are too large."];
  }
  if (code === LATE_HEADERS) return ["408 Request Timeout", slowBodyError().message];
  return ["400 Bad Request", "The request is not valid HTTP."];
}
