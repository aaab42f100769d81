/**
 * What is not HTTP, or too slow or too large to be it, never becomes a request; it gets the envelope all the same, and its
 * connection ends. An answer that is in flight on that connection is finished first: nothing else is written into it.
 */
import type { Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { slowBody } from "@tollgate/api/faults.ts";
import type { Clock } from "../base/clock.ts";
import { type NewId, publicId } from "../base/ids.ts";
import type { HttpWatch } from "./call.ts";

/** A client that was refused may read the answer for so long; then its connection is cut, and what waits for it with it. */
const LINGER_MS = 2_000;

interface BrokenRequests {
  /** For the server's `clientError`. */
  refuse(error: NodeJS.ErrnoException, socket: Duplex): void;
  watch(server: Server): void;
}

interface BrokenOptions {
  clock: Clock;
  newId: NewId | undefined;
  watch: HttpWatch | undefined;
}

export function brokenRequests({ clock, newId, watch }: BrokenOptions): BrokenRequests {
  /** Per connection: what has been asked on it, in order, as long as the question or the answer is incomplete. */
  const open = new WeakMap<Duplex, ServerResponse[]>();
  const refused = new WeakSet<Duplex>();

  const leave = (socket: Duplex, lastWords = ""): void => {
    socket.end(lastWords);
    const stopTimer = clock.after(LINGER_MS, () => socket.destroy());
    socket.once("close", stopTimer);
  };

  const answer = (socket: Duplex, [status = "", text, ...headers]: string[]): void => {
    // No method and no route could be read.
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

  return {
    refuse(error, socket) {
      if (socket.destroyed || refused.has(socket)) return;
      refused.add(socket);
      const inFlight = (open.get(socket) ?? []).filter((response) => !isSettled(response)).findLast(isDue);
      if (inFlight === undefined) answer(socket, refusalOf(error));
      else if (inFlight.writableFinished) leave(socket);
      else inFlight.once("close", () => leave(socket));
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
      // No one's proxy: without this, Node closes the connection without a word.
      server.on("connect", (_request, socket) => {
        answer(socket, ["405 Method Not Allowed", "CONNECT is not supported.", "allow: GET, POST"]);
      });
    },
  };
}

const isSettled = ({ writableFinished, req }: ServerResponse): boolean => writableFinished && req.complete;
/** Its request has all come, or its answer has begun: either way the answer is its own. */
const isDue = ({ headersSent, req }: ServerResponse): boolean => headersSent || req.complete;

function refusalOf({ code }: NodeJS.ErrnoException): string[] {
  if (code === "HPE_HEADER_OVERFLOW") {
    return ["431 Request Header Fields Too Large", "The request headers are too large."];
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return ["408 Request Timeout", slowBody().message];
  return ["400 Bad Request", "The request is not valid HTTP."];
}
