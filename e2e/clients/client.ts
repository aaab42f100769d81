/** What is asked of every client, and what an adapter answers. */
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
  finish: string;
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
  /** As `embed`, said in the way that is right with every version; only where the plain way is not. */
  embedSafely?(at: Connection, ask: { model: string; input: string[] }): Promise<number[][]>;
  complete?(at: Connection, ask: Ask): Promise<string>;
  models?(at: Connection): Promise<string[]>;
  /** What the AI SDK's `textStream` shows of a stream, and what it tells elsewhere. */
  streamText?(at: Connection, ask: Ask): Promise<{ text: string; errors: unknown[]; finish: string }>;
  /** With retries on, yet none of what was billed. */
  chatCarefully?(at: Connection, ask: Ask): Promise<unknown>;
  seen(error: unknown): Seen;
  close?(): Promise<void>;
}

/** What is particular to a client, and asserted: a version that no longer has it fails. */
export interface Traits {
  /** What an error event inside a stream is raised as. */
  streamRaises: string;
  /** What a prompt that is too long is raised as, where the client has a class for it. */
  contextRaises?: string;
  /** It asks for base64 without being told to, and misreads the floats that come. */
  corruptsFloats?: true;
  /** It does not read `x-should-retry`, so that its retries repeat a billed failure. */
  repeatsBilled?: true;
  /** It makes a dialogue of a completion's prompt, and `textStream` keeps a failure to itself. */
  isAiSdk?: true;
  /** Leaving its stream does not end the request: it runs on, and is paid for. */
  runsOn?: true;
  /** Its errors have the status and the message, not the code. */
  losesCode?: true;
}
