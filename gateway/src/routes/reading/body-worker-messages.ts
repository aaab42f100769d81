/** Input and output of the worker threads that parse large bodies. */
import type { Fault, FaultParts } from "../../faults.ts";
import type { BodyReadOptions, CountedRequest } from "../../inference/call-interface.ts";
import type { TokenizerName, TokenizerTables } from "../../metering/tokenizers.ts";

/** The data that a worker thread gets at its start. */
export interface BodyReadingWorkerData {
  tables: Map<TokenizerName, TokenizerTables>;
  base64Compat: boolean;
}

export interface ReadBodyJob {
  /** Pieces of shared memory, which no other body uses until this one is parsed. */
  pieces: Uint8Array[];
  order: BodyReadOptions | "form";
}

export type ReadBodyResult = { ask: CountedRequest; promptTokens: number } | { form: unknown } | { fault: FaultParts };

/** Converts an error to plain data for another thread, without its cause. */
export function serializeFault({ status, retry, type, code, message, extra, headers, about }: Fault): FaultParts {
  return { status, retry, type, message, extra, headers, about, ...(code !== undefined && { code }) };
}
