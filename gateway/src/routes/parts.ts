/**
 * The parts that routes use. Each domain declares its own in its folder's `parts.ts`, each route file picks the parts
 * that it needs, and `assemble/site.ts` creates them.
 */
import type { AccountParts } from "../accounts/parts.ts";
import type { LiveCertificate } from "../base/certificate.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { HistoryParts } from "../history/parts.ts";
import type { HttpOptions } from "../http/call.ts";
import type { Cursors } from "../http/lists/cursors.ts";
import type { Outages } from "../http/outages.ts";
import type { InferenceParts } from "../inference/parts.ts";
import type { KeyParts } from "../keys/parts.ts";
import type { LedgerParts } from "../ledger/parts.ts";
import type { NotificationParts } from "../notifications/parts.ts";
import type { OperatorParts } from "../operators/parts.ts";
import type { PaymentParts } from "../payments/parts.ts";
import type { LiveFeeds } from "./console/live.ts";
import type { NodeParts } from "./nodes/parts.ts";

/** Parts that belong to no domain. */
export interface SiteParts {
  door: HttpOptions;
  log: Log;
  newId: NewId;
  /** The current time in Unix milliseconds. */
  now: () => number;
  cursors: Cursors;
  /** The gateway's public address, if configured. */
  publicUrl: string | undefined;
  /** The public listener's TLS certificate. Undefined: plain HTTP. */
  certificate?: LiveCertificate | undefined;
  live: LiveFeeds;
  /** The dependencies that are unreachable at present. */
  outages: Outages;
  status: { isPublic: boolean; sampleEveryMs: number };
}

export type Parts = SiteParts &
  Pick<AccountParts, "identities"> &
  KeyParts &
  LedgerParts &
  HistoryParts &
  NotificationParts &
  PaymentParts &
  InferenceParts &
  NodeParts &
  OperatorParts;
