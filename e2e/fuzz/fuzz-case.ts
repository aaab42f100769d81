/** One generated request before it is sent, with the expected responses. */
import type { ExpectedResponse } from "./expected-response.ts";

/**
 * A placeholder for the platform's key, so that requests depend only on seed and index. It has the length of a key, so
 * that lengths and cuts stay valid when it is replaced.
 */
export const FUZZ_API_KEY = `tsk_live_${"K".repeat(12)}_${"K".repeat(43)}`;

/** A request with correct framing, sent over a kept-alive connection. */
export interface HttpFuzzCase {
  via: "agent";
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | null;
  expected: ExpectedResponse[];
}

/** Bytes that are sent on a new socket. */
export interface SocketFuzzCase {
  via: "socket";
  /** The pieces are written one after the other, with a turn of the event loop in between. */
  pieces: Buffer[];
  /** The client's next step after sending: wait for responses, close its sending side, or disconnect. */
  afterwards: "listen" | "end" | "leave";
  /** The client disconnects after it has read this many bytes of the response. */
  leaveAfterBytes?: number;
  /** The expected responses, in order. Each may match any of several. */
  answers: ExpectedResponse[][];
  /** Accepts fewer responses: the server may cut a broken connection before it sends them. */
  mayStaySilent?: boolean;
  /** One more response that may follow: an error for the bytes after the last request. */
  last?: ExpectedResponse[];
}

export type FuzzCase = (HttpFuzzCase | SocketFuzzCase) & { kind: string };
