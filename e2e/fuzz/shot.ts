/** One request of a run, before it is sent, with its expected results. */
import type { Expected } from "./expected.ts";

/**
 * Stands for the platform's key in a generated request, so that requests depend only on seed and index. It has the
 * length of a key, so that lengths and cuts stay valid when it is replaced.
 */
export const KEY = `tsk_live_${"K".repeat(12)}_${"K".repeat(43)}`;

/** A well-framed request over kept-alive connections. */
export interface AgentShot {
  via: "agent";
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | null;
  expected: Expected[];
}

/** Bytes on a new socket. */
export interface SocketShot {
  via: "socket";
  /** Written one after the other, with a turn of the event loop between them. */
  pieces: Buffer[];
  /** What the client does afterwards: waits for its answers, closes its side, or leaves. */
  afterwards: "listen" | "end" | "leave";
  /** The client leaves after this many bytes of the answer. */
  leaveAfterBytes?: number;
  /** The expected answers, in order. */
  answers: Expected[][];
  /** Fewer answers are accepted: a broken connection may be cut before they are sent. */
  mayStaySilent?: boolean;
  /** An answer that breaks off is accepted: closing one's side counts as leaving. */
  mayBreakOff?: boolean;
  /** A further answer that may follow, because bytes after a request are not a request. */
  last?: Expected[];
}

export type Shot = (AgentShot | SocketShot) & { kind: string };
