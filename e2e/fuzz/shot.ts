/** One request of a run, before it is sent, and what must come of it. */
import type { Expected } from "./expected.ts";

/**
 * Stands in a request for the platform's key, so that what is generated depends on seed and index alone. It is as long as
 * a key, so that lengths and cuts stay right when the key takes its place.
 */
export const KEY = `tsk_live_${"K".repeat(12)}_${"K".repeat(43)}`;

/** Well-framed HTTP, sent by a client that keeps its connections. */
export interface AgentShot {
  via: "agent";
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | null;
  expected: Expected[];
}

/** Bytes on a socket of their own. */
export interface SocketShot {
  via: "socket";
  /** Written one after the other, with a turn of the event loop between them. */
  pieces: Buffer[];
  /** What the client does afterwards: waits for its answers, closes its side, or leaves. */
  afterwards: "listen" | "end" | "leave";
  /** Leaves after so many bytes of the answer. */
  leaveAfterBytes?: number;
  /** In their order. */
  answers: Expected[][];
  /** Fewer answers are no finding: the connection was broken, and may be cut before they are out. */
  mayStaySilent?: boolean;
  /** An answer that is cut off is no finding either: to close one's side is to leave. */
  mayBreakOff?: boolean;
  /** What may come after those: what follows a request is no request. */
  last?: Expected[];
}

export type Shot = (AgentShot | SocketShot) & { kind: string };
