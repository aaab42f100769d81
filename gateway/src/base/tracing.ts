/**
 * The time spent in each step of a request, for a trace collector. Steps follow each other, so one begins where the previous one ends. When
 * tracing is off, a step is an empty function.
 */

/** Attributes of a request, never text of a prompt or an answer. */
export type SpanAttributes = Record<string, string | number | boolean | undefined>;

export interface Trace {
  /** The trace ID in hexadecimal, for logs; undefined when tracing is off. */
  readonly id: string | undefined;
  /** Starts the step. */
  step(name: string): void;
  note(facts: SpanAttributes): void;
  /** `failure`: why the current step failed. */
  end(failure?: string): void;
}

export interface Tracing {
  /** `headers` may contain the client's trace (W3C `traceparent`), which becomes the parent. */
  begin(name: string, headers: Record<string, string | string[] | undefined>): Trace;
  /** Sends pending traces if the collector accepts them. */
  close(): Promise<void>;
}

const noTrace: Trace = { id: undefined, step() {}, note() {}, end() {} };

export const noTracing: Tracing = { begin: () => noTrace, close: async () => {} };
