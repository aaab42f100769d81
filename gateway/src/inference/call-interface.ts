/** A request and its reply, as the code for inference uses them. http/ implements both for sockets. */
import type { CancelSignal } from "../base/cancel-signal.ts";
import type { Uuid } from "../base/ids.ts";
import type { ClientSdk, Endpoint, ParsedRequest } from "./endpoint.ts";

export interface Call {
  id: Uuid;
  /** When the request arrived, in the clock's monotonic milliseconds. */
  arrivedAt: number;
  authorization: string | undefined;
  /** The unparsed headers, used for the client's trace. */
  headers: Record<string, string | string[] | undefined>;
  /** The client's family by its User-Agent, such as `openai-js` or `curl`. */
  client: string;
  /** The client's library, if it identifies itself. */
  sdk: ClientSdk | null;
  /** Throws a 413 if the declared length of the body is too large, before it is read. */
  checkDeclaredLength(): void;
  /**
   * Reads the whole body, synchronously if it has arrived. A large body reserves memory of the payer's budget. Throws
   * 413, 415, 503 or 400.
   */
  readBody(payer: string): Body | Promise<Body>;
  reply: Reply;
  /** Aborted when the client's connection closes before the whole response was sent. */
  cancelSignal: CancelSignal;
}

/** A completely received body. */
export interface Body {
  /** Whether the body is small enough to be parsed on the event loop. */
  isSmall: boolean;
  /** Parses the body synchronously. Throws a 400. */
  json(): unknown;
  /** The pieces of shared memory of a large body. The receiver may return them for reuse. */
  pieces: Uint8Array[];
  /** Reduces the reserved memory to this many bytes. */
  keep(bytes: number): void;
}

/** A request whose prompt was counted. The parsed prompt itself is no longer needed. */
export type CountedRequest = Omit<ParsedRequest, "prompt">;

/** The data that another thread needs to read a body by the same rules. */
export interface BodyReadOptions {
  schema: Endpoint["schema"];
  sdk: ClientSdk | null;
  /** The models in the text form of `serializeModels`, and those that the API key may use; null for all. */
  models: string;
  allowed: readonly string[] | null;
  /** Whether requests of this API key may have labels. */
  labels: boolean;
  /** The account that pays. Payers take turns, and texts that a payer sent before are not counted again. */
  payer: string;
}

/** Reads large bodies on worker threads. */
export interface LargeBodyReader {
  /** Reads a request, and takes over the body's memory. Rejects with the error for the client. */
  read(body: Body, order: BodyReadOptions): Promise<{ ask: CountedRequest; promptTokens: number }>;
}

export interface Reply {
  /** Sets headers for the answer, whichever it will be. */
  setHeaders(headers: Record<string, string>): void;
  /** Sends the whole answer. `body` is JSON text, or the bytes of it in parts. */
  json(status: number, body: string | readonly Uint8Array[], headers?: Record<string, string>): void;
  /** Sends status 200 and starts an event stream. */
  openStream(): void;
  /** Sends one `data:` event of the stream. */
  event(data: string): void;
  endStream(): void;
  /** Sends a final error event, and ends the stream so that clients do not mistake it for a complete answer. */
  failStream(data: string): void;
}
