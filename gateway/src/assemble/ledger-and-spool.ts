/** Opens the ledger with its leases and its spool (settlements on disk), and the record of refused requests. */
import {
  openRateLimitedRequestRecords,
  type RateLimitedRequestRecords,
} from "../history/rate-limited-request-records.ts";
import { openRefusedCallCounts, REFUSED_CALLS_MIGRATION, type RefusedCalls } from "../history/refused-calls.ts";
import { openRequestAttempts, type RequestAttempts } from "../history/request-attempts.ts";
import { openRollupWriter, type RollupWriter } from "../history/rollup-writer.ts";
import { openUnfundedRequestCounts, type UnfundedRequestCounts } from "../history/unfunded-request-counts.ts";
import {
  GATEWAY_PROCESSES_MIGRATION,
  openGatewayProcesses,
  type ProcessRecord,
  recordGatewayProcess,
} from "../ledger/gateway-processes.ts";
import { type HoldLeases, openHoldLeases } from "../ledger/leases.ts";
import { type Ledger, openLedger } from "../ledger/ledger.ts";
import { openSpool, type Spool } from "../ledger/spool.ts";
import { openSpoolReplay } from "../ledger/spool-replay.ts";
import type { AssemblyContext } from "./assembly-context.ts";
import {
  followDatabaseHistory,
  type HistoryLossMetrics,
  type HistorySettings,
  type Journals,
  openJournals,
} from "./failover-loss-protection.ts";
import type { DatabaseAccess, SpoolPlace } from "./port-interfaces.ts";

export interface MoneySettings extends HistorySettings {
  /** How long a request's hold remains after its gateway died. */
  holdLeaseMs: number;
  /** Whether this gateway runs background jobs: rollups, samples, retention, sweeps, ledger checks, alerts. */
  upkeep: boolean;
}

export interface LedgerAndSpool {
  ledger: Ledger;
  leases: HoldLeases;
  refusals: RateLimitedRequestRecords;
  unfunded: UnfundedRequestCounts;
  refusedCalls: RefusedCalls;
  requestAttempts: RequestAttempts;
  /** Undefined if this gateway runs no background jobs. */
  rollups: RollupWriter | undefined;
  /**
   * Logs on disk of recent database writes, from which writes that a failover lost are entered again. Undefined
   * if the gateway does not check for failovers.
   */
  journals: Journals | undefined;
  losses: (() => HistoryLossMetrics) | undefined;
  /** This process's record in the database. */
  processRecord: ProcessRecord;
  /** Settles what it can, and returns whether the spool directory is empty. */
  isSpoolEmpty: () => Promise<boolean>;
}

export async function openLedgerAndSpool(
  context: AssemblyContext,
  settings: MoneySettings,
  { store, spool: place }: { store: DatabaseAccess; spool: SpoolPlace },
): Promise<LedgerAndSpool> {
  const { clock, log, gatewayId, onClose } = context;
  const { holdLeaseMs, upkeep } = settings;
  const { pool, ledgerPool, ledgerApartPool, schema } = store;
  const refusals = openRateLimitedRequestRecords({ pool, clock });
  onClose(() => refusals.idle());
  const spool = await openOwnSpool(context, place);
  let isRecorded = (): boolean => false;
  onClose(() => spool.close({ keepsFile: isRecorded() }));
  const { host } = spool.owner;
  const self = { gateway: gatewayId, host, directory: spool.directory, connections: store.connections.total };
  const processRecord = await recordGatewayProcess({ pool, schema, clock, log, process: self });
  isRecorded = () => processRecord.isThere;
  const journals = openJournals(context, settings, { spool, store });
  const rollups = upkeep ? openRollupWriter({ pool, clock, log }) : undefined;
  onClose(() => rollups?.stop());
  const ledger = openLedger({
    pool: ledgerPool,
    ...(ledgerApartPool && { apartPool: ledgerApartPool }),
    schema,
    clock,
    gatewayId,
    holdLeaseMs,
    spool,
    journals,
    log,
    onEnded: () => rollups?.soon(),
  });
  // Runs after the ledger is closed.
  onClose(() => processRecord.end(ledger.unsettled().length === 0));
  onClose(() => ledger.close());
  const { spoolRead: onRead } = openGatewayProcesses(pool, () => schema.number >= GATEWAY_PROCESSES_MIGRATION);
  const replay = openSpoolReplay({
    spool,
    clock,
    log,
    ledger,
    onRead,
    ...(place.isAlive && { isAlive: place.isAlive }),
  });
  onClose(() => replay.stop());
  void replay.run();
  const leases = openHoldLeases({ ledger, clock, log, holdLeaseMs });
  onClose(() => leases.stop());
  const unfunded = openUnfundedRequestCounts({ pool, clock, log });
  onClose(() => unfunded.close());
  const refusedCalls = openRefusedCallCounts({
    pool,
    clock,
    log,
    isThere: () => schema.number >= REFUSED_CALLS_MIGRATION,
  });
  onClose(() => refusedCalls.close());
  const requestAttempts = openRequestAttempts({ pool, clock, log, schema });
  onClose(() => requestAttempts.close());
  const losses = journals && (await followDatabaseHistory(context, { store, journals, ledger }));
  const isSpoolEmpty = async (): Promise<boolean> => ledger.unsettled().length === 0 && (await replay.run());
  const records = { refusals, unfunded, refusedCalls, requestAttempts, rollups, processRecord };
  return { ledger, leases, ...records, journals, losses, isSpoolEmpty };
}

async function openOwnSpool({ gatewayId, clock, log }: AssemblyContext, place: SpoolPlace): Promise<Spool> {
  const { isAlive: _, ...where } = place;
  try {
    return await openSpool({ ...where, gatewayId, clock, log });
  } catch (cause) {
    throw new Error(`SPOOL_DIR (${place.directory}) is not writable: ${(cause as Error).message}`, { cause });
  }
}
