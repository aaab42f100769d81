/** The interface of every client under test. */
export interface ClientConnection {
  baseURL: string;
  apiKey: string;
  maxRetries: number;
}

export interface ClientRequest {
  model: string;
  prompt: string;
  maxTokens?: number;
}

interface Answer {
  text: string;
  /** Null if the client does not report it. */
  finish: string | null;
  /** The number of completion tokens in the client's usage report. */
  tokens: number;
  reasoning?: string | null;
}

/** A failed request as the client's error describes it. */
export interface ShownError {
  raised: string;
  status?: number | null;
  code?: string | null;
  message: string;
  /** The error's field `required_micro`: the hold that exceeded the balance, in microdollars. */
  required?: number | null;
}

type Schema = Record<string, unknown>;

export interface Client {
  chat(at: ClientConnection, ask: ClientRequest): Promise<Answer>;
  /** Calls `onText` with every piece of text as it arrives; raises the client's error. */
  stream(at: ClientConnection, ask: ClientRequest, onText: (text: string) => void): Promise<void>;
  /** Returns the completion tokens that the stream reported. */
  streamUsage?(at: ClientConnection, ask: ClientRequest): Promise<number>;
  /** Disconnects from a stream after its first text. */
  cancel?(at: ClientConnection, ask: ClientRequest): Promise<void>;
  /** Requests an answer that matches the schema, and returns it parsed. */
  structured?(at: ClientConnection, ask: ClientRequest, schema: Schema): Promise<unknown>;
  /** Calls the Responses API, which the gateway does not offer. Only for clients that can choose this API. */
  responses?(at: ClientConnection, ask: ClientRequest): Promise<unknown>;
  embed?(at: ClientConnection, ask: { model: string; input: string[] }): Promise<number[][]>;
  complete?(at: ClientConnection, ask: ClientRequest): Promise<string>;
  models?(at: ClientConnection): Promise<string[]>;
  /** Returns the text and the error of the AI SDK's `textStream`, and the errors passed to `onError`. */
  streamText?(at: ClientConnection, ask: ClientRequest): Promise<{ text: string; errors: unknown[]; raised?: string }>;
  /** Sends a chat with retries enabled, set up so that no billed request is repeated. */
  chatCarefully?(at: ClientConnection, ask: ClientRequest): Promise<unknown>;
  seen(error: unknown): ShownError;
  close?(): Promise<void>;
}

/** Known properties and flaws of one client. A new client version that differs from them fails the checks. */
export interface ClientTraits {
  /** The error class of a failed stream. */
  streamRaises: string;
  /** The error class of a prompt that is too long, if the client has one. */
  contextRaises?: string;
  /** The client ignores the header `x-should-retry`, so its retries repeat requests that were billed. */
  repeatsBilled?: true;
  /** The client turns a completion's prompt into a dialogue, and `textStream` raises a failure without its code. */
  isAiSdk?: true;
  /**
   * Disconnecting from a stream does not cancel the request: the model continues, and the rest of the answer is
   * charged.
   */
  runsOn?: true;
  /** The client's errors contain the status and the message, but not the code. */
  losesCode?: true;
  /** The client ignores a stream's error event. It raises an error only because the body is incomplete. */
  ignoresErrorEvent?: true;
  /** The client never retries. */
  neverRetries?: true;
  /** The client's schema types cannot express `minimum`. */
  losesBounds?: true;
}
