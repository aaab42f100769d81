/** What the operators' routes stand on. */
import type { Uuid } from "../../../base/ids.ts";
import type { Fleet } from "../../../fleet/fleet.ts";
import type { Secrets } from "../../../keys/keys.ts";
import type { CheckResult } from "../../../ledger/check.ts";
import type { Ledger } from "../../../ledger/ledger.ts";
import type { Audit } from "../../../operators/audit.ts";
import type { Directory } from "../../../operators/directory.ts";
import type { Overview } from "../../../operators/overview.ts";
import type { Payouts } from "../../../operators/payouts.ts";
import type { Cursors } from "../../lists/cursors.ts";
import type { NodeDesk } from "../../nodes/desk.ts";

export interface ModelCapacity {
  model: string;
  nodes: number;
  slots: number;
  busy: number;
}

export interface OperatorOptions {
  audit: Audit;
  directory: Directory;
  overview: Overview;
  payouts: Payouts;
  ledger: Ledger;
  fleet: Fleet;
  desk: NodeDesk;
  apiKeys: Secrets;
  checkBooks: () => Promise<CheckResult[]>;
  capacity: () => ModelCapacity[];
  cursors: Cursors;
  newId: () => Uuid;
  /** Unix milliseconds. */
  now: () => number;
}
