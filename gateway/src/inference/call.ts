/** The request and its reply as the inference path sees them. http/ implements these for sockets. */
import type { CancelSignal } from "../base/cancel.ts";
import type { Uuid } from "../base/ids.ts";
import type { Ask, Endpoint, Sdk } from "./endpoint.ts";

export interface Call {
  id: Uuid;
  /** When the request arrived, in the clock's monotonic milliseconds. */
  arrivedAt: number;
  authorization: string | undefined;
  /** Unparsed, for the client's trace headers. */
  headers: Record<string, string | string[] | undefined>;
  /** The client's family, from its user agent: `openai-js`, `curl`. */
  client: string;
  /** The client's library, where it names itself. */
  sdk: Sdk | null;
  /** Refuses a body with a too large declared length before reading it. Fault: 413. */
  checkDeclaredLength(): void;
  /** Reads the whole body, synchronously if it has arrived; a large one uses the payer's memory budget. Faults: 413, 415, 503, 400. */
  readBody(payer: string): Body | Promise<Body>;
  reply: Reply;
  /** Aborts when the client disconnected before its answer is complete. */
  cancelSignal: CancelSignal;
}

/** A complete body. */
export interface Body {
  /** Small enough to parse on the event loop. */
  isSmall: boolean;
  /** Parses it synchronously. Fault: 400. */
  json(): unknown;
  /** A large body, in pieces of shared memory. The receiver may return them for reuse. */
  pieces: Uint8Array[];
  /** Reduces the counted memory to this many bytes. */
  keep(bytes: number): void;
}

/** A request whose prompt has been counted and is no longer parsed. */
export type ReadAsk = Omit<Ask, "prompt">;

/** Everything that another thread needs to read a body by the same rules. */
export interface ReadOrder {
  schema: Endpoint["schema"];
  sdk: Sdk | null;
  /** The models as `writeModels` writes them, and those that the key may use; null: all. */
  models: string;
  allowed: readonly string[] | null;
  /** Whether the key's requests may have labels. */
  labels: boolean;
  /** Payers take turns. A payer's earlier text is not counted again. */
  payer: string;
}

/** Reads large bodies on other threads. */
export interface Reader {
  /** Takes over the body's memory. Rejects with a fault. */
  read(body: Body, order: ReadOrder): Promise<{ ask: ReadAsk; promptTokens: number }>;
}

export interface Reply {
  /** Headers of every later answer. */
  setHeaders(headers: Record<string, string>): void;
  /** Answers at once; `body` is JSON text, or its bytes in parts. */
  json(status: number, body: string | readonly Uint8Array[], headers?: Record<string, string>): void;
  /** Sends status 200 and starts an event stream. */
  openStream(): void;
  /** Sends one `data:` event. */
  event(data: string): void;
  endStream(): void;
  /** Sends a final error event, and ends the stream so that clients do not take it for a complete answer. */
  failStream(data: string): void;
}
