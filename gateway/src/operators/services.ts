/** Creates the services behind the operators' routes: queries and actions. */
import type pg from "pg";
import type { Clock } from "../base/clock.ts";
import type { NewId } from "../base/ids.ts";
import type { NodeRules } from "../fleet/node-standing-rules.ts";
import { type AccountDirectory, openAccountDirectory } from "./account-directory.ts";
import { type Audit, openAudit } from "./audit.ts";
import { type AuditSubjects, openAuditSubjects } from "./audit-subjects.ts";
import { createOpenDisputesQuery, type FindOpenDisputes } from "./disputes.ts";
import { type Incidents, openIncidentRecords } from "./incidents/incident-records.ts";
import { type LedgerChecks, openLedgerChecks } from "./ledger-checks.ts";
import { type NodesNeedingAttention, openNodesNeedingAttention } from "./nodes-needing-attention.ts";
import { type Overview, openOverview, totalsWithOnlineNodes } from "./overview.ts";
import { openPayoutBatches, type PayoutBatches } from "./payouts.ts";
import { openPlatformSpend, type PlatformSpend } from "./platform-spend.ts";
import { createRequestPartiesQuery, type FindRequestParties } from "./request-parties.ts";

export interface OperatorServices {
  audit: Audit;
  books: LedgerChecks;
  /** Sums of charges by account and model. */
  spend: PlatformSpend;
  /** Nodes that need an operator's attention. */
  attention: NodesNeedingAttention;
  /** Names for the IDs in the audit log. */
  subjects: AuditSubjects;
  directory: AccountDirectory;
  overview: Overview;
  payouts: PayoutBatches;
  /** Undecided disputes, oldest first. */
  disputes: FindOpenDisputes;
  /** Recorded incidents. */
  incidents: Incidents;
  /** Finds the builder, node and host of a request. */
  partiesOf: FindRequestParties;
}

interface OperatorServicesOptions {
  pool: pg.Pool;
  clock: Clock;
  newId: NewId;
  rules: NodeRules;
  /** The gateway's version, for comparison with agents' versions. */
  version: string;
  /** The number of connected nodes. */
  online: () => number;
  payoutHoldDays: number;
  /** Whether the migration that creates the incident tables has run. */
  hasIncidents: () => boolean;
}

export function openOperatorServices(options: OperatorServicesOptions): OperatorServices {
  const { pool, clock, newId, rules, version, online, payoutHoldDays: holdDays, hasIncidents } = options;
  const records = openOverview({ pool });
  return {
    audit: openAudit({ pool, newId }),
    books: openLedgerChecks({ pool, clock, newId }),
    spend: openPlatformSpend({ pool }),
    attention: openNodesNeedingAttention({ pool, rules, version }),
    subjects: openAuditSubjects({ pool }),
    directory: openAccountDirectory({ pool, rules }),
    overview: { ...records, totals: async () => totalsWithOnlineNodes(await records.totals(), online()) },
    payouts: openPayoutBatches({ pool, newId, holdDays }),
    disputes: createOpenDisputesQuery({ pool }),
    incidents: openIncidentRecords({ pool, newId, isThere: hasIncidents }),
    partiesOf: createRequestPartiesQuery({ pool }),
  };
}
