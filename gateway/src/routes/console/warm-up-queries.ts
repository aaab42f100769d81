/**
 * Runs the console's queries once after the start, for an account that does not exist, because a query's first run is
 * slower: each connection fills its catalogue caches, and code is compiled. Only reads.
 */

import type { AccountServices } from "../../accounts/services.ts";
import type { Uuid } from "../../base/ids.ts";
import { computeTimeSlots } from "../../history/performance-reader.ts";
import type { HistoryServices } from "../../history/services.ts";
import type { KeyServices } from "../../keys/services.ts";
import type { LedgerServices } from "../../ledger/services.ts";
import type { OperatorServices } from "../../operators/services.ts";
import type { PaymentServices } from "../../payments/services.ts";
import type { SiteServices } from "../services.ts";

const NOBODY = "00000000-0000-0000-0000-000000000000" as Uuid;

type WarmedParts = Pick<AccountServices, "identities"> &
  Pick<LedgerServices, "ledger" | "statement"> &
  Pick<HistoryServices, "usage" | "performance" | "history" | "unfunded" | "refusedCalls" | "presence"> &
  Pick<KeyServices, "apiKeys"> &
  Pick<PaymentServices, "alerts"> &
  Pick<OperatorServices, "spend" | "attention"> &
  Pick<SiteServices, "now">;

interface WarmOptions {
  /** The number of connections in the pool. Each query runs on all of them at the same time. */
  connections: number;
  /** Whether the gateway is being closed. */
  isOver: () => boolean;
}

/** Warms up the console's queries. Rejects with the database's error; the first visitor's queries are then slower. */
export async function warmUpConsoleQueries(parts: WarmedParts, { connections, isOver }: WarmOptions): Promise<void> {
  for (const ask of questions(parts)) {
    if (isOver()) return;
    await Promise.all(Array.from({ length: connections }, (_, i) => ask(i)));
  }
}

/** The queries to run; those that most pages use come first. */
function questions(parts: WarmedParts): ((i: number) => Promise<unknown>)[] {
  const { identities, ledger, usage, performance, history, unfunded, refusedCalls, apiKeys, statement, alerts } = parts;
  const now = new Date(parts.now());
  const span = { from: now, to: now };
  const day = computeTimeSlots("24h", parts.now());
  const slots = { ...day, ...span };
  return [
    () => identities.warm(),
    // Each call uses another account ID, because concurrent equal queries would share one result.
    (i) => identities.accountsOf(NOBODY.replace(/0$/, String(i % 10)) as Uuid),
    () => usage.sums(NOBODY, { by: "hour", split: "model", ...span }),
    () => usage.sums(NOBODY, { by: "day", ...span }),
    () => usage.sums(NOBODY, { by: "outcome", ...span }),
    () => usage.byLabel(NOBODY, span),
    () =>
      performance.each(
        { scope: "account", subjects: [NOBODY], ...slots },
        { total: [], rows: ["model"], points: ["slot"] },
      ),
    // Queries the whole platform, whose figures have rows: without rows, the percentiles would not be computed, and
    // that code would stay slow for the first visitor.
    () => performance.each({ scope: "platform", ...day }, { total: [], rows: ["model"], points: ["slot"] }),
    () => history.list(NOBODY, { limit: 1 }),
    () => history.keptFrom(),
    () => unfunded.sums(NOBODY, span),
    () => refusedCalls.sums(NOBODY, span),
    () => refusedCalls.examples(NOBODY),
    () => ledger.balance(NOBODY),
    () => ledger.holds(NOBODY),
    () => apiKeys.list(NOBODY, { limit: 1 }),
    () => usage.byKey(NOBODY, now),
    () => history.total(NOBODY, {}, parts.now()),
    () => statement.byDay(NOBODY, { before: undefined, limit: 1 }),
    () => usage.burn(NOBODY, parts.now()),
    () => alerts.of(NOBODY),
    () => parts.spend.models(span),
    () => parts.spend.accounts(span, 1),
    () => parts.presence.sums(slots),
    () => parts.attention.nodes({ connected: [], span: slots, limit: 1 }),
  ];
}
