/** The services and settings that routes need to run a request or to compute its price. */
import type { CancelSignal } from "../base/cancel-signal.ts";
import type { Catalogue } from "../metering/catalogue.ts";
import type { RequestPathDependencies } from "./request-path-dependencies.ts";
import type { UnpaidJob, UnpaidJobResult } from "./unpaid-job.ts";

export interface InferenceServices {
  gateway: RequestPathDependencies;
  /** The setting EMBEDDINGS_BASE64_COMPAT: whether clients that corrupt float embeddings get base64. */
  base64Compat: boolean;
  catalogue: () => Catalogue;
  /** Runs an unpaid job on one node; undefined if the node is not connected or does not serve the model. */
  runPrivately: (job: UnpaidJob, signal: CancelSignal) => Promise<UnpaidJobResult | undefined>;
}
