/** Money and the record of it; the limits; the purchase of credits. */
import { openEarnings } from "../history/earnings.ts";
import { openHistory } from "../history/history.ts";
import { openPerformance } from "../history/performance.ts";
import { openReceipts } from "../history/receipts.ts";
import { openRefusals } from "../history/refusals.ts";
import { openRollups } from "../history/rollups.ts";
import { openUnfunded } from "../history/unfunded.ts";
import { keepLeases } from "../ledger/leases.ts";
import { openLedger } from "../ledger/ledger.ts";
import { openReplay } from "../ledger/replay.ts";
import { openSpool } from "../ledger/spool.ts";
import type { Limits, UnavailableCause } from "../limits/limits.ts";
import { localWhenAway } from "../limits/local-when-away.ts";
import { memoryLimits } from "../limits/memory.ts";
import { openPayments, type Payments } from "../payments/payments.ts";
import type { ServerSecrets } from "../server-secrets.ts";
import type { Context } from "./context.ts";
import type { Store } from "./store.ts";

const PARTITIONS_EVERY_MS = 6 * 60 * 60 * 1000;
const PAYMENT_SWEEP_EVERY_MS = 24 * 60 * 60 * 1000;

/** Money and the record of it. */
export async function openMoney(
  { config: { holdLeaseMs, spoolDir }, clock, log, gatewayId, onClose }: Context,
  { pool }: Store,
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
  const ledger = openLedger({ pool, clock, gatewayId, holdLeaseMs, spool, log });
  onClose(() => ledger.close());
  const replay = openReplay({ spool, clock, log, ledger });
  onClose(() => replay.stop());
  void replay.run();
  const leases = keepLeases({ ledger, clock, log, holdLeaseMs });
  onClose(() => leases.stop());
  const unfunded = openUnfunded({ pool, clock, log });
  onClose(() => unfunded.close());
  const rollups = openRollups({ pool, clock, log });
  onClose(() => rollups.stop());
  const performance = openPerformance({ pool });
  return { history, earnings, receipts, refusals, unfunded, rollups, performance, ledger, leases };
}

/** Undefined where purchases are not configured. */
export async function openPurchases(
  { config, clock, newId, log, onClose }: Context,
  { pool }: Store,
): Promise<Payments | undefined> {
  if (config.payments === undefined) return undefined;
  // Stripe's library is large: a gateway that sells nothing does not load it.
  const { stripeProvider } = await import("../payments/stripe.ts");
  const payments = openPayments({ pool, provider: stripeProvider({ ...config.payments, clock }), newId, log });
  onClose(
    clock.every(PAYMENT_SWEEP_EVERY_MS, () => {
      payments.sweep().catch((error) => log.error({ err: error }, "forgetting old events of the provider failed"));
    }),
  );
  return payments;
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
