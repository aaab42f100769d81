/** The request and its reply as the inference path sees them. The doors in http/ implement these for real sockets. */
import type { CancelSignal } from "../base/cancel.ts";
import type { Uuid } from "../base/ids.ts";
import type { Ask, Endpoint, Sdk } from "./endpoint.ts";

export interface Call {
  id: Uuid;
  /** When the request arrived, in the clock's monotonic milliseconds. */
  arrivedAt: number;
  authorization: string | undefined;
  /** As they came, for the trace that the client may have begun. */
  headers: Record<string, string | string[] | undefined>;
  /** The client's family, from its user agent: `openai-js`, `curl`. */
  client: string;
  /** The client's library, where it names itself. */
  sdk: Sdk | null;
  /** Refuses a body that is declared too long, before a byte of it is read. Fault: 413. */
  checkDeclaredLength(): void;
  /** Reads the body to its end, at once where all of it has come; a large one out of the payer's part of the budget. Faults: 413, 415, 503, 400. */
  readBody(payer: string): Body | Promise<Body>;
  reply: Reply;
  /** Aborts when the client disconnected before its answer is complete. */
  cancelSignal: CancelSignal;
}

/** A body that has come. */
export interface Body {
  /** Small enough to be looked at without anyone waiting for it. */
  isSmall: boolean;
  /** Parses it here and now. Fault: 400. */
  json(): unknown;
  /** Large ones are in pieces of shared memory. Whoever takes them out may give them back, for another body. */
  pieces: Uint8Array[];
  /** Only so many bytes of it, or of what was made of it, are held from now on. */
  keep(bytes: number): void;
}

/** A request whose prompt was counted, and is only carried from here on. */
export type ReadAsk = Omit<Ask, "prompt">;

/** What another thread needs to read a body as this one would. */
export interface ReadOrder {
  schema: Endpoint["schema"];
  sdk: Sdk | null;
  /** The models there are, as `writeModels` writes them, and those of them that the key may ask for; null: every one. */
  models: string;
  allowed: readonly string[] | null;
  /** Whether the key's requests may have labels. */
  labels: boolean;
  /** Who pays takes turns with the others who do; what one of them sent before need not be counted again. */
  payer: string;
}

/** Reads large bodies on other threads. */
export interface Reader {
  /** Takes the body's memory with it. Rejects with the fault that is due. */
  read(body: Body, order: ReadOrder): Promise<{ ask: ReadAsk; promptTokens: number }>;
}

export interface Reply {
  /** Headers of whatever answer follows. */
  setHeaders(headers: Record<string, string>): void;
  /** Answers in one piece; `body` is JSON text, or its bytes in parts. */
  json(status: number, body: string | readonly Uint8Array[], headers?: Record<string, string>): void;
  /** Commits to 200 and an event stream. */
  openStream(): void;
  /** One `data:` event. */
  event(data: string): void;
  endStream(): void;
  /** The terminal error event, and an end that no client takes for the answer's. */
  failStream(data: string): void;
}
