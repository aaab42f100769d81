/**
 * Where the time of one request goes, told to whoever collects such things. The steps of a request follow each other, so that the
 * beginning of one is the end of the one before. Off, a step is the call of an empty function.
 */

/** What is known of a request; never a word of a prompt or an answer. */
export type Facts = Record<string, string | number | boolean | undefined>;

export interface Trace {
  /** For logs, in hexadecimal; undefined while no one collects. */
  readonly id: string | undefined;
  /** From now on it is in this step. */
  step(name: string): void;
  note(facts: Facts): void;
  /** `failure`: why the step that it is in did not end well. */
  end(failure?: string): void;
}

export interface Tracing {
  /** `headers`: may name the client's own trace (W3C `traceparent`), which this one then belongs to. */
  begin(name: string, headers: Record<string, string | string[] | undefined>): Trace;
  /** Sends what was not sent yet, as far as someone takes it. */
  close(): Promise<void>;
}

const noTrace: Trace = { id: undefined, step() {}, note() {}, end() {} };

export const noTracing: Tracing = { begin: () => noTrace, close: async () => {} };
