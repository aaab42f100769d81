/**
 * Measures the time spent in each step of a request, for a trace collector. A step begins where the previous one ends.
 * When tracing is off, all functions do nothing.
 */

/** Attributes of a request. Never contains text of a prompt or an answer. */
export type SpanAttributes = Record<string, string | number | boolean | undefined>;

export interface Trace {
  /** The trace ID in hexadecimal, for logs. Undefined when tracing is off. */
  readonly id: string | undefined;
  /** Ends the current step and starts this one. */
  step(name: string): void;
  note(facts: SpanAttributes): void;
  /** Ends the trace. `failure`: the reason that the current step failed. */
  end(failure?: string): void;
}

export interface Tracing {
  /** `headers` may contain the client's own trace (W3C `traceparent`), which becomes the parent of this one. */
  begin(name: string, headers: Record<string, string | string[] | undefined>): Trace;
  /** Sends pending traces if the collector accepts them. */
  close(): Promise<void>;
}

const noTrace: Trace = { id: undefined, step() {}, note() {}, end() {} };

export const noTracing: Tracing = { begin: () => noTrace, close: async () => {} };
