/** Where large bodies are read: a port, so that this folder need not know of threads. */
import type { ActiveModel } from "../metering/catalogue.ts";
import type { Body } from "./call.ts";
import type { Ask, Endpoint, Sdk } from "./endpoint.ts";

/** A request whose prompt was counted, and is only carried from here on. */
export type ReadAsk = Omit<Ask, "prompt">;

/** What another thread needs to read a body as this one would. */
export interface ReadOrder {
  schema: Endpoint["schema"];
  sdk: Sdk | null;
  models: ActiveModel[];
}

/** Reads large bodies on other threads. */
export interface Reader {
  /** Takes the body's memory with it. Rejects with the fault that is due. Who pays takes turns with the others who do. */
  read(body: Body, order: ReadOrder & { payer: string }): Promise<{ ask: ReadAsk; promptTokens: number }>;
}
