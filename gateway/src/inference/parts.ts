/** The request path, for routes. */
import type { CancelSignal } from "../base/cancel.ts";
import type { Catalogue } from "../metering/catalogue.ts";
import type { Gateway } from "./gateway.ts";
import type { PrivateJob, PrivateResult } from "./private-job.ts";

export interface InferenceParts {
  gateway: Gateway;
  /** EMBEDDINGS_BASE64_COMPAT. */
  base64Compat: boolean;
  catalogue: () => Catalogue;
  /** Runs an unpaid job on one node; undefined when that node cannot take it. */
  runPrivately: (job: PrivateJob, signal: CancelSignal) => Promise<PrivateResult | undefined>;
}
