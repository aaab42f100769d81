/** Money and the record of it; the limits; the purchase of credits. */
import type { Outbox } from "../accounts/outbox.ts";
import { sleep } from "../base/clock.ts";
import { CLOSED_DAYS_SINCE } from "../db/closed-days.ts";
import { type Closing, keepClosing } from "../history/closing-days.ts";
import { openEarnings } from "../history/earnings.ts";
import { openHistory } from "../history/history.ts";
import { openExportFolder } from "../history/month-export.ts";
import { openPerformance } from "../history/performance.ts";
import { openReceipts } from "../history/receipts.ts";
import { openRefusals } from "../history/refusals.ts";
import { keepRetaining, type Retaining } from "../history/retaining.ts";
import { openRetention } from "../history/retention.ts";
import { openRollups } from "../history/rollups.ts";
import { openUnfunded } from "../history/unfunded.ts";
import { DERIVED_SINCE } from "../ledger/books.ts";
import { keepLeases } from "../ledger/leases.ts";
import { openLedger } from "../ledger/ledger.ts";
import { openReplay } from "../ledger/replay.ts";
import { openSpool } from "../ledger/spool.ts";
import type { Limits, UnavailableCause } from "../limits/limits.ts";
import { localWhenAway } from "../limits/local-when-away.ts";
import { memoryLimits } from "../limits/memory.ts";
import { type Alerts, openAlerts } from "../payments/alerts.ts";
import { openPayments, type Payments } from "../payments/payments.ts";
import type { ServerSecrets } from "../server-secrets.ts";
import { linkOriginOf } from "./accounts.ts";
import type { Context } from "./context.ts";
import type { Store } from "./store.ts";

const PARTITIONS_EVERY_MS = 6 * 60 * 60 * 1000;
const PAYMENT_SWEEP_EVERY_MS = 24 * 60 * 60 * 1000;
/** How late an alert, a letter or an automatic purchase may be. */
const LOOK_EVERY_MS = 5_000;
const CLOSE_MS_MAX = 2_000;

/** Money and the record of it. */
export async function openMoney(
  { config: { holdLeaseMs, spoolDir }, clock, log, gatewayId, onClose }: Context,
  { pool, ledgerPool, schema }: Store,
  { receiptSeed }: ServerSecrets,
) {
  const history = openHistory({ pool });
  const earnings = openEarnings({ pool });
  onClose(
    clock.every(PARTITIONS_EVERY_MS, () => {
      history.makePartitions().catch((error) => log.error({ err: error }, "making history partitions failed"));
    }),
  );
  const receipts = await openReceipts({ pool, seed: Buffer.from(receiptSeed, "base64url") });
  const refusals = openRefusals({ pool, clock });
  onClose(() => refusals.idle());
  const spool = await openSpool({ directory: spoolDir, gatewayId, clock, log }).catch((cause) => {
    throw new Error(`SPOOL_DIR (${spoolDir}) cannot be written to: ${cause.message}`, { cause });
  });
  onClose(() => spool.close());
  const rollups = openRollups({ pool, clock, log });
  onClose(() => rollups.stop());
  const ledger = openLedger({
    pool: ledgerPool,
    schema,
    clock,
    gatewayId,
    holdLeaseMs,
    spool,
    log,
    onEnded: rollups.soon,
  });
  onClose(() => ledger.close());
  const replay = openReplay({ spool, clock, log, ledger });
  onClose(() => replay.stop());
  void replay.run();
  const leases = keepLeases({ ledger, clock, log, holdLeaseMs });
  onClose(() => leases.stop());
  const unfunded = openUnfunded({ pool, clock, log });
  onClose(() => unfunded.close());
  const performance = openPerformance({ pool });
  return { history, earnings, receipts, refusals, unfunded, performance, rollups, ledger, leases };
}

/** Works out the sums of days that are over, where the database has a place for them. */
export function openClosing({ clock, log, onClose }: Context, { pool, schema }: Store): void {
  let closing: Closing | undefined;
  let isClosed = false;
  void schema.reached(CLOSED_DAYS_SINCE).then(() => {
    if (!isClosed) closing = keepClosing({ pool, clock, log });
  });
  onClose(async () => {
    isClosed = true;
    await closing?.stop();
  });
}

/** Drops what is older than it is to be kept. Before the books have closings, nothing is. */
export async function openRetaining(
  { config: { retention: days, payoutHoldDays }, clock, log, onClose }: Context,
  { pool, schema }: Store,
): Promise<Pick<Retaining, "months">> {
  const { exportDir } = days;
  if (exportDir !== undefined) {
    await openExportFolder(exportDir).catch((cause) => {
      throw new Error(`HISTORY_EXPORT_DIR (${exportDir}) cannot be written to: ${cause.message}`, { cause });
    });
  }
  let retaining: Retaining | undefined;
  let isClosed = false;
  void schema.reached(DERIVED_SINCE).then(() => {
    if (isClosed) return;
    const retention = openRetention({ pool, rules: { ...days, payoutHoldDays }, now: () => clock.now() });
    retaining = keepRetaining({ retention, pool, clock, log });
  });
  onClose(async () => {
    isClosed = true;
    await retaining?.stop();
  });
  return { months: () => retaining?.months() };
}

/** Undefined where purchases are not configured. */
export async function openPurchases(context: Context, { pool }: Store, outbox: Outbox): Promise<Payments | undefined> {
  const { config, clock, newId, log, onClose } = context;
  if (config.payments === undefined) return undefined;
  // Stripe's library is large: a gateway that sells nothing does not load it.
  const { stripeProvider } = await import("../payments/stripe.ts");
  const provider = stripeProvider({ ...config.payments, clock });
  const origin = linkOriginOf(config);
  const payments = openPayments({ pool, provider, outbox, origin, clock, newId, log });
  const { topUps } = payments;
  repeat(context, "automatic purchases failed", async () => {
    await topUps.begin();
    await topUps.ask();
  });
  onClose(
    clock.every(PAYMENT_SWEEP_EVERY_MS, () => {
      payments.sweep().catch((error) => log.error({ err: error }, "forgetting old events of the provider failed"));
    }),
  );
  return payments;
}

/** The low-credit alert, and the letters that it and failed purchases give reason for. */
export function openAlerting(context: Context, { pool }: Store, outbox: Outbox): Alerts {
  const alerts = openAlerts({ pool, outbox, origin: linkOriginOf(context.config) });
  repeat(context, "looking for low credit, or sending letters, failed", async () => {
    await alerts.look();
    await outbox.send();
  });
  return alerts;
}

/** Every few seconds, but not while the last time lasts. Closing waits a little for its end; what is cut off is taken up again. */
function repeat({ clock, log, onClose }: Context, failed: string, task: () => Promise<void>): void {
  let underWay: Promise<void> | undefined;
  const stop = clock.every(LOOK_EVERY_MS, () => {
    underWay ??= task()
      .catch((error) => log.error({ err: error }, failed))
      .finally(() => {
        underWay = undefined;
      });
  });
  onClose(async () => {
    stop();
    if (underWay !== undefined) await Promise.race([underWay, sleep(clock, CLOSE_MS_MAX)]);
  });
}

interface LimitsFacts {
  /** How many gateways live now, this one among them. */
  gateways: () => number;
  unavailable: (cause: UnavailableCause) => void;
}

export async function openLimits(context: Context, facts: LimitsFacts): Promise<Limits> {
  const limits = await chosenLimits(context, facts);
  context.onClose(() => limits.close());
  return limits;
}

async function chosenLimits({ config, clock, log }: Context, { gateways, unavailable }: LimitsFacts): Promise<Limits> {
  const { valkeyUrl: url, limitsWhenAway: whenAway } = config;
  if (url === undefined) return memoryLimits({ clock });
  const { valkeyLimits } = await import("../limits/valkey.ts");
  const shared = await valkeyLimits({ url, clock, log: log.child({ whenAway }), unavailable });
  return whenAway === "local" ? localWhenAway({ shared, clock, gateways }) : shared;
}
