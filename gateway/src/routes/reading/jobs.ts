/** Input and output of the threads that read large bodies. */
import type { Fault, FaultParts } from "../../faults.ts";
import type { ReadAsk, ReadOrder } from "../../inference/call.ts";
import type { Tables, TokenizerName } from "../../metering/tokenizers.ts";

/** When it starts. */
export interface ReadingData {
  tables: Map<TokenizerName, Tables>;
  base64Compat: boolean;
}

export interface ReadJob {
  /** Shared memory, which belongs to this body until it is read. */
  pieces: Uint8Array[];
  order: ReadOrder | "form";
}

export type Read = { ask: ReadAsk; promptTokens: number } | { form: unknown } | { fault: FaultParts };

/** A fault as it travels between threads: its cause stays behind. */
export function writeFault({ status, retry, type, code, message, extra, headers, about }: Fault): FaultParts {
  return { status, retry, type, message, extra, headers, about, ...(code !== undefined && { code }) };
}
