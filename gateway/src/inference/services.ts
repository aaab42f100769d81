/** The parts for routes that run or price requests. */
import type { CancelSignal } from "../base/cancel.ts";
import type { Catalogue } from "../metering/catalogue.ts";
import type { Gateway } from "./gateway.ts";
import type { UnpaidJob, UnpaidJobResult } from "./unpaid-job.ts";

export interface InferenceServices {
  gateway: Gateway;
  /** The setting EMBEDDINGS_BASE64_COMPAT. */
  base64Compat: boolean;
  catalogue: () => Catalogue;
  /** Runs an unpaid job on one node; undefined if the node is not connected or does not serve the model. */
  runPrivately: (job: UnpaidJob, signal: CancelSignal) => Promise<UnpaidJobResult | undefined>;
}
