/** The interface of every client under test. */
export interface Connection {
  baseURL: string;
  apiKey: string;
  maxRetries: number;
}

export interface Ask {
  model: string;
  prompt: string;
  maxTokens?: number;
}

interface Answer {
  text: string;
  /** Null when the client does not report it. */
  finish: string | null;
  /** Completion tokens as the client reports them. */
  tokens: number;
  reasoning?: string | null;
}

/** A failure as a builder meets it, read from where this client keeps it. */
export interface Seen {
  raised: string;
  status?: number | null;
  code?: string | null;
  message: string;
  /** `required_micro` of a hold that exceeds the balance. */
  required?: number | null;
}

type Schema = Record<string, unknown>;

export interface Client {
  chat(at: Connection, ask: Ask): Promise<Answer>;
  /** Hands every piece of text on as it comes; raises what the client raises. */
  stream(at: Connection, ask: Ask, onText: (text: string) => void): Promise<void>;
  /** The completion tokens that a stream told. */
  streamUsage?(at: Connection, ask: Ask): Promise<number>;
  /** Leaves a stream after its first text. */
  cancel?(at: Connection, ask: Ask): Promise<void>;
  /** An answer in this form, parsed. */
  structured?(at: Connection, ask: Ask, schema: Schema): Promise<unknown>;
  /** By the Responses API, which does not exist here; only where the client could choose it. */
  responses?(at: Connection, ask: Ask): Promise<unknown>;
  embed?(at: Connection, ask: { model: string; input: string[] }): Promise<number[][]>;
  complete?(at: Connection, ask: Ask): Promise<string>;
  models?(at: Connection): Promise<string[]>;
  /** What the AI SDK's `textStream` shows of a stream and raises, and what `onError` tells. */
  streamText?(at: Connection, ask: Ask): Promise<{ text: string; errors: unknown[]; raised?: string }>;
  /** With retries on, yet none of what was billed. */
  chatCarefully?(at: Connection, ask: Ask): Promise<unknown>;
  seen(error: unknown): Seen;
  close?(): Promise<void>;
}

/** Properties of one client. A version without them fails. */
export interface Traits {
  /** The error class of a failed stream. */
  streamRaises: string;
  /** The error class of a too long prompt, if the client has one. */
  contextRaises?: string;
  /** It does not read `x-should-retry`, so that its retries repeat a billed failure. */
  repeatsBilled?: true;
  /** It makes a dialogue of a completion's prompt, and `textStream` raises a failure without its code. */
  isAiSdk?: true;
  /** Leaving its stream does not end the request: it runs on, and is paid for. */
  runsOn?: true;
  /** Its errors have the status and the message, not the code. */
  losesCode?: true;
  /** It ignores the error event of a stream, and raises because the connection ends before the body does. */
  ignoresErrorEvent?: true;
  /** It retries nothing. */
  neverRetries?: true;
  /** Its types for schemas have no `minimum`. */
  losesBounds?: true;
}
