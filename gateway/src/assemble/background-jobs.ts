/** Schedules the gateway's background jobs. */
import { sleep } from "../base/clock.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../base/time.ts";
import { CLOSED_DAYS_MIGRATION } from "../db/closed-days.ts";
import { type DayClosing, startDayClosing } from "../history/day-closing.ts";
import { openHistoryRetention } from "../history/history-retention.ts";
import { startModelAvailabilitySampler } from "../history/model-availability-sampler.ts";
import { prepareExportFolder } from "../history/month-export.ts";
import { startNodePresenceSampler } from "../history/node-presence-sampler.ts";
import { type RetentionRunner, startRetentionRunner } from "../history/retention-runner.ts";
import type { HistoryServices } from "../history/services.ts";
import type { InferenceServices } from "../inference/services.ts";
import { GATEWAY_PROCESSES_MIGRATION, openGatewayProcesses } from "../ledger/gateway-processes.ts";
import { GIVEN_UP_MIGRATION, openGivenUpSettlements } from "../ledger/given-up-settlements.ts";
import { DERIVED_ENTRIES_MIGRATION } from "../ledger/sql-views.ts";
import { openWithheldSharesReserve } from "../ledger/withheld-shares-reserve.ts";
import type { NotificationServices } from "../notifications/services.ts";
import { INCIDENTS_MIGRATION } from "../operators/incidents/incident-records.ts";
import { startRecordingIncidents } from "../operators/incidents/record-incidents.ts";
import { type LedgerCheckResult, scheduleLedgerChecks, watchLedgerCheckResult } from "../operators/ledger-checks.ts";
import { createPlatformHealthReader } from "../operators/platform-health.ts";
import type { OperatorServices } from "../operators/services.ts";
import type { PaymentServices } from "../payments/services.ts";
import { sumCapacityByModel } from "../routes/console/operator/overview.ts";
import type { NodeServices } from "../routes/nodes/services.ts";
import type { SiteServices } from "../routes/services.ts";
import { pruneChecks, SPOT_CHECKS_MIGRATION } from "../trust/spot-checks/store.ts";
import type { AssemblyContext } from "./assembly-context.ts";
import type { DatabaseAccess, ExternalInterfaces } from "./port-interfaces.ts";
import type { SiteSettings } from "./site.ts";

const PARTITIONS_EVERY_MS = 6 * HOUR_MS;
const RECORDS_SWEEP_EVERY_MS = 6 * HOUR_MS;
/** How long hourly node records and single spot checks are kept. */
const RECORDS_KEPT_MS = 90 * DAY_MS;
/** The maximum delay before hosts are paid for verifying other hosts' answers. */
const VERIFIERS_PAID_EVERY_MS = 10 * MINUTE_MS;
const PAYMENT_SWEEP_EVERY_MS = DAY_MS;
/** The maximum delay of an alert, an email or an automatic purchase. */
const LOOK_EVERY_MS = 5_000;
const CLOSE_MS_MAX = 2_000;

export interface BackgroundJobSettings {
  upkeep: boolean;
  /** How many days earnings are held back before a payout. */
  payoutHoldDays: number;
  /**
   * How many days request records and refusals are kept, and the folder for exported months. Undefined days: forever.
   */
  retention: { historyDays: number | undefined; refusalsDays: number | undefined; exportDir: string | undefined };
  /** Whether the ledger check runs once a day. */
  provesBooks: boolean;
  status: SiteSettings["status"];
}

interface Needs {
  ports: Pick<ExternalInterfaces, "store" | "plane">;
  parts: Pick<HistoryServices, "history" | "availability" | "presence" | "refusedCalls" | "requestAttempts"> &
    Pick<OperatorServices, "books" | "incidents"> &
    Pick<PaymentServices, "alerts" | "payments"> &
    Pick<InferenceServices, "catalogue"> &
    Pick<NodeServices, "nodes" | "fleet"> &
    Pick<SiteServices, "outages">;
  notifying: Pick<NotificationServices, "notifications">;
}

/** Results of background jobs. Undefined before the first run, and on a gateway without background jobs. */
export interface BackgroundJobResults {
  /** The number of months with request records, and how many of them are due for deletion. */
  months: () => { kept: number; due: number } | undefined;
  /** The latest result of a ledger check. */
  verdict: () => Pick<LedgerCheckResult, "at" | "balanced"> | undefined;
}

export async function startBackgroundJobs(
  context: AssemblyContext,
  settings: BackgroundJobSettings,
  { ports, parts, notifying }: Needs,
): Promise<BackgroundJobResults> {
  const { clock, log, onClose } = context;
  const { store } = ports;
  const { books, history } = parts;
  if (!settings.upkeep) {
    onClose(() => books.close());
    return { months: () => undefined, verdict: () => undefined };
  }
  const verdict = watchLedgerCheckResult(books, { clock, log });
  onClose(() => verdict.stop());
  if (settings.provesBooks) onClose(scheduleLedgerChecks(books, { pool: store.pool, clock, log }));
  // Close functions run in reverse order: this one cancels running checks before the schedule above waits for them.
  onClose(() => books.close());
  onClose(
    clock.every(PARTITIONS_EVERY_MS, () => {
      history
        .makePartitions()
        .catch((error) => log.error({ err: error }, "could not create partitions of the request history"));
    }),
  );
  keepRecordsPruned(context, store, { ...parts, ...notifying });
  keepVerifiersPaid(context, store);
  keepDaysClosed(context, store);
  const retaining = await keepRetention(context, settings, store);
  keepSamples(context, settings, { ports, parts });
  keepIncidentsRecorded(context, store, parts);
  keepCreditWatched(context, { parts, notifying });
  return { months: retaining.months, verdict: verdict.current };
}

/**
 * Deletes node records, single spot checks, attempts and notifications after 90 days, refused calls after 7 days, and
 * given-up settlements once they are in the ledger, and processes that ended and left nothing after a day.
 */
function keepRecordsPruned(
  { clock, log, onClose }: AssemblyContext,
  { pool, schema }: DatabaseAccess,
  {
    fleet,
    refusedCalls,
    requestAttempts,
    notifications,
  }: Pick<NodeServices, "fleet"> & Pick<HistoryServices, "refusedCalls" | "requestAttempts"> & Needs["notifying"],
): void {
  const givenUp = openGivenUpSettlements(pool, () => schema.number >= GIVEN_UP_MIGRATION);
  const processes = openGatewayProcesses(pool, () => schema.number >= GATEWAY_PROCESSES_MIGRATION);
  const prune = async (): Promise<void> => {
    const before = new Date(clock.now() - RECORDS_KEPT_MS);
    await fleet.record.prune(before);
    if (schema.number >= SPOT_CHECKS_MIGRATION) await pruneChecks(pool, before);
    await refusedCalls.prune();
    await requestAttempts.prune(before);
    await givenUp.prune();
    await processes.prune();
    if (notifications.isThere()) await notifications.deliveries.prune();
  };
  onClose(
    clock.every(RECORDS_SWEEP_EVERY_MS, () => {
      prune().catch((error) =>
        log.error(
          { err: error },
          "could not delete old node records, spot checks, attempts, refused calls, given-up settlements, ended processes or notifications",
        ),
      );
    }),
  );
}

/** Pays hosts for verifying other hosts' answers, with one transfer for many spot checks. */
function keepVerifiersPaid({ clock, log, onClose }: AssemblyContext, { ledgerPool, schema }: DatabaseAccess): void {
  const reserve = openWithheldSharesReserve({ pool: ledgerPool });
  onClose(
    clock.every(VERIFIERS_PAID_EVERY_MS, () => {
      if (schema.number < SPOT_CHECKS_MIGRATION) return;
      reserve.payChecks().catch((error) => log.error({ err: error }, "could not pay verifiers for their spot checks"));
    }),
  );
}

/** Computes the sums of finished days, once the database has the tables. */
function keepDaysClosed({ clock, log, onClose }: AssemblyContext, { pool, schema }: DatabaseAccess): void {
  let closing: DayClosing | undefined;
  let isClosed = false;
  void schema.reached(CLOSED_DAYS_MIGRATION).then(() => {
    if (!isClosed) closing = startDayClosing({ pool, clock, log });
  });
  onClose(async () => {
    isClosed = true;
    await closing?.stop();
  });
}

/** Deletes old months of requests, once the database has the table of closed months. */
async function keepRetention(
  { clock, log, onClose }: AssemblyContext,
  { retention: days, payoutHoldDays }: BackgroundJobSettings,
  { pool, schema }: DatabaseAccess,
): Promise<Pick<RetentionRunner, "months">> {
  const { exportDir } = days;
  if (exportDir !== undefined) {
    await prepareExportFolder(exportDir).catch((cause) => {
      throw new Error(`HISTORY_EXPORT_DIR (${exportDir}) is not writable: ${cause.message}`, { cause });
    });
  }
  let retaining: RetentionRunner | undefined;
  let isClosed = false;
  void schema.reached(DERIVED_ENTRIES_MIGRATION).then(() => {
    if (isClosed) return;
    const retention = openHistoryRetention({ pool, rules: { ...days, payoutHoldDays }, now: () => clock.now() });
    retaining = startRetentionRunner({ retention, pool, clock, log });
  });
  onClose(async () => {
    isClosed = true;
    await retaining?.stop();
  });
  return { months: () => retaining?.months() };
}

/** Records at intervals which models are available and which nodes are connected. */
function keepSamples(
  { clock, log, onClose }: AssemblyContext,
  { status: { sampleEveryMs: everyMs } }: BackgroundJobSettings,
  { ports: { plane }, parts }: Pick<Needs, "ports" | "parts">,
): void {
  const { availability, presence, catalogue, nodes } = parts;
  const lookAtModels = () => [...catalogue().active.keys()].map((model) => ({ model, ...nodes.capacityOf(model) }));
  onClose(startModelAvailabilitySampler({ availability, everyMs, look: lookAtModels, clock, log }));
  if (plane === undefined) return;
  const look = () => (plane.health.isAway ? undefined : nodes.all());
  onClose(startNodePresenceSampler({ presence, everyMs, look, clock, log }));
}

/** Records incidents for the status page, once the database has the table. */
function keepIncidentsRecorded(
  { clock, log, gatewayId: gateway, onClose }: AssemblyContext,
  { schema }: DatabaseAccess,
  parts: Pick<Needs["parts"], "availability" | "incidents" | "outages" | "catalogue" | "nodes">,
): void {
  const { availability, incidents, outages } = parts;
  const verdicts = createPlatformHealthReader({ availability, outages, capacity: () => sumCapacityByModel(parts) });
  let stop: (() => Promise<void>) | undefined;
  let isClosed = false;
  void schema.reached(INCIDENTS_MIGRATION).then(() => {
    if (!isClosed) stop = startRecordingIncidents({ incidents, gateway, verdicts, outages, clock, log });
  });
  onClose(async () => {
    isClosed = true;
    await stop?.();
  });
}

/** Runs low-credit alerts, automatic purchases, and the emails about them. */
function keepCreditWatched(
  context: AssemblyContext,
  { parts: { alerts, payments }, notifying: { notifications } }: Pick<Needs, "parts" | "notifying">,
): void {
  const { clock, log, onClose } = context;
  repeat(context, "could not check which accounts need a low-balance alert", () => alerts.look());
  repeat(context, "could not look for events to notify of", async () => {
    if (notifications.isThere()) await notifications.events.find();
  });
  repeat(context, "could not send notifications", async () => {
    if (notifications.isThere()) await notifications.deliverer.send();
  });
  if (payments === undefined) return;
  repeat(context, "automatic purchases failed", async () => {
    await payments.topUps.begin();
    await payments.topUps.ask();
  });
  onClose(
    clock.every(PAYMENT_SWEEP_EVERY_MS, () => {
      payments.sweep().catch((error) => log.error({ err: error }, "could not delete old payment events"));
    }),
  );
}

/**
 * Runs a task every few seconds, without overlap. Closing waits briefly for a running task; an interrupted task runs
 * again after the next start.
 */
function repeat({ clock, log, onClose }: AssemblyContext, failed: string, task: () => Promise<unknown>): void {
  let inFlight: Promise<unknown> | undefined;
  const stop = clock.every(LOOK_EVERY_MS, () => {
    inFlight ??= task()
      .catch((error) => log.error({ err: error }, failed))
      .finally(() => {
        inFlight = undefined;
      });
  });
  onClose(async () => {
    stop();
    if (inFlight !== undefined) await Promise.race([inFlight, sleep(clock, CLOSE_MS_MAX)]);
  });
}
