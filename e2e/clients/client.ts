/** What the matrix asks of every client, and what an adapter answers. */
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

export interface Client {
  chat(at: Connection, ask: Ask): Promise<Answer>;
  /** Hands every piece of text on as it comes; raises what the client raises. */
  stream(at: Connection, ask: Ask, onText: (text: string) => void): Promise<void>;
  /** By the Responses API, which does not exist here; only where the client could choose it. */
  responses?(at: Connection, ask: Ask): Promise<unknown>;
  embed(at: Connection, ask: { model: string; input: string[] }): Promise<number[][]>;
  /** As `embed`, said in the way that is right with every version; only where the plain way is not. */
  embedSafely?(at: Connection, ask: { model: string; input: string[] }): Promise<number[][]>;
  complete?(at: Connection, ask: Ask): Promise<string>;
  models?(at: Connection): Promise<string[]>;
  /** What the AI SDK's `textStream` shows of a stream, and what it tells elsewhere. */
  streamText?(at: Connection, ask: Ask): Promise<{ text: string; errors: unknown[]; finish: string }>;
  /** With retries on, yet none of what was billed. */
  chatCarefully?(at: Connection, ask: Ask): Promise<unknown>;
  seen(error: unknown): Seen;
  close?(): void;
}
