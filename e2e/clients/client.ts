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
  /** Null if the client does not report it. */
  finish: string | null;
  /** The number of completion tokens that the client reports. */
  tokens: number;
  reasoning?: string | null;
}

/** A failure as a builder sees it, read from this client's error. */
export interface Seen {
  raised: string;
  status?: number | null;
  code?: string | null;
  message: string;
  /** The field `required_micro` of a hold that exceeds the balance. */
  required?: number | null;
}

type Schema = Record<string, unknown>;

export interface Client {
  chat(at: Connection, ask: Ask): Promise<Answer>;
  /** Calls `onText` with every piece of text as it arrives; raises the client's error. */
  stream(at: Connection, ask: Ask, onText: (text: string) => void): Promise<void>;
  /** Returns the completion tokens that the stream reported. */
  streamUsage?(at: Connection, ask: Ask): Promise<number>;
  /** Leaves a stream after its first text. */
  cancel?(at: Connection, ask: Ask): Promise<void>;
  /** Requests an answer in this format and returns it parsed. */
  structured?(at: Connection, ask: Ask, schema: Schema): Promise<unknown>;
  /** Uses the Responses API, which the gateway does not have; only for clients that could choose it. */
  responses?(at: Connection, ask: Ask): Promise<unknown>;
  embed?(at: Connection, ask: { model: string; input: string[] }): Promise<number[][]>;
  complete?(at: Connection, ask: Ask): Promise<string>;
  models?(at: Connection): Promise<string[]>;
  /** What the AI SDK's `textStream` yields and raises, and the errors that `onError` gets. */
  streamText?(at: Connection, ask: Ask): Promise<{ text: string; errors: unknown[]; raised?: string }>;
  /** Sends a chat with retries on, but without repeating a billed request. */
  chatCarefully?(at: Connection, ask: Ask): Promise<unknown>;
  seen(error: unknown): Seen;
  close?(): Promise<void>;
}

/** Properties of one client. A new version that differs fails the checks. */
export interface Traits {
  /** The error class of a failed stream. */
  streamRaises: string;
  /** The error class of a prompt that is too long, if the client has one. */
  contextRaises?: string;
  /** The client does not read `x-should-retry`, so its retries repeat a billed failure. */
  repeatsBilled?: true;
  /** The client turns a completion's prompt into a dialogue, and `textStream` raises a failure without its code. */
  isAiSdk?: true;
  /** Leaving a stream does not end the request: it continues and is charged. */
  runsOn?: true;
  /** The client's errors contain the status and the message, but not the code. */
  losesCode?: true;
  /** The client ignores the error event of a stream, and raises an error because the connection ends before the body does. */
  ignoresErrorEvent?: true;
  /** The client never retries. */
  neverRetries?: true;
  /** The client's schema types have no `minimum`. */
  losesBounds?: true;
}
