/**
 * The parts that routes use. Each domain declares its own in its folder's `services.ts`, each route file picks the
 * parts that it needs, and `assemble/site.ts` creates them.
 */
import type { AccountServices } from "../accounts/services.ts";
import type { ReloadableCertificate } from "../base/certificate.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { HistoryServices } from "../history/services.ts";
import type { HttpOptions } from "../http/http-call.ts";
import type { Cursors } from "../http/lists/page-cursors.ts";
import type { Outages } from "../http/outages.ts";
import type { InferenceServices } from "../inference/services.ts";
import type { KeyServices } from "../keys/services.ts";
import type { LedgerServices } from "../ledger/services.ts";
import type { NotificationServices } from "../notifications/services.ts";
import type { OperatorServices } from "../operators/services.ts";
import type { PaymentServices } from "../payments/services.ts";
import type { LiveFeeds } from "./console/live-feeds.ts";
import type { NodeServices } from "./nodes/services.ts";

/**
 * The services that all routes share, such as the log, the clock and the certificate. The other services belong to one
 * area, such as accounts.
 */
export interface SiteServices {
  door: HttpOptions;
  log: Log;
  newId: NewId;
  /** The current time in Unix milliseconds. */
  now: () => number;
  cursors: Cursors;
  /** The gateway's public address, if configured. */
  publicUrl: string | undefined;
  /** The public listener's TLS certificate. Undefined: plain HTTP. */
  certificate?: ReloadableCertificate | undefined;
  live: LiveFeeds;
  /** The dependencies that are unreachable at present. */
  outages: Outages;
  status: { isPublic: boolean; sampleEveryMs: number };
}

export type RouteServices = SiteServices &
  Pick<AccountServices, "identities"> &
  KeyServices &
  LedgerServices &
  HistoryServices &
  NotificationServices &
  PaymentServices &
  InferenceServices &
  NodeServices &
  OperatorServices;
