/** What the console's routes stand on, put together from the gateway's parts. */
import type pg from "pg";
import type { Uuid } from "../../base/ids.ts";
import type { MedianSpeed } from "../../dispatch/speeds.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { History, RequestRecord } from "../../history/history.ts";
import { openUsage } from "../../history/usage.ts";
import type { Quote } from "../../inference/quote.ts";
import type { Secrets } from "../../keys/keys.ts";
import { checkBooks } from "../../ledger/check.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import { openStatement } from "../../ledger/statement.ts";
import { openAudit } from "../../operators/audit.ts";
import { openDirectory } from "../../operators/directory.ts";
import { openOverview, withOnline } from "../../operators/overview.ts";
import { openPayouts } from "../../operators/payouts.ts";
import type { OpenCall } from "../door.ts";
import type { NodeDesk } from "../nodes/desk.ts";
import type { NodeWork } from "../nodes/work.ts";
import type { Live } from "./live.ts";
import type { ConsoleOptions } from "./routes.ts";

export interface ConsoleGround {
  pool: pg.Pool;
  ledger: Ledger;
  history: History;
  /** What a chat request would hold. */
  quote: (call: OpenCall, accountId: Uuid) => Promise<Quote>;
  /** Signs the receipt of a request. */
  receiptOf: (record: RequestRecord) => object;
  apiKeys: Secrets;
  hostTokens: Secrets;
  fleet: Fleet;
  desk: NodeDesk;
  work: NodeWork;
  /** The nodes that take requests now, as this gateway sees them. */
  online: {
    nodes: () => number;
    speedOf: (model: string) => MedianSpeed;
    capacityOf: (model: string) => { nodes: number; slots: number; busy: number };
  };
  live: Live;
  /** How long earnings are held back before they are paid out. */
  payoutHoldDays: number;
}

export type ConsoleParts = Pick<ConsoleOptions, "builder" | "models" | "host" | "earnings" | "operator" | "live">;

export function consoleParts(ground: ConsoleGround): ConsoleParts {
  const { pool, ledger, history, apiKeys, hostTokens, fleet, desk, work, online, live } = ground;
  const { catalogue, cursors, newId, now } = work;
  const signed = (record: RequestRecord | undefined) => (record === undefined ? undefined : ground.receiptOf(record));
  const records = openOverview({ pool });
  const overview = { ...records, totals: async () => withOnline(await records.totals(), online.nodes()) };
  const capacity = () => [...catalogue().active.keys()].map((model) => ({ model, ...online.capacityOf(model) }));
  return {
    builder: {
      apiKeys,
      usage: openUsage({ pool }),
      history,
      catalogue,
      cursors,
      receiptOfBuilder: async (builder: Uuid, id: Uuid) => signed(await history.find(builder, id)),
      balance: (id: Uuid) => ledger.balance(id),
      statement: openStatement({ pool }),
      quote: ground.quote,
      now,
    },
    models: { catalogue, speedOf: online.speedOf, capacityOf: online.capacityOf },
    host: { hostTokens, desk, work },
    earnings: { work, receiptOfHost: async (host: Uuid, id: Uuid) => signed(await history.findServed(host, id)) },
    operator: {
      audit: openAudit({ pool, newId }),
      directory: openDirectory({ pool, rules: fleet.rules }),
      overview,
      payouts: openPayouts({ pool, newId, holdDays: ground.payoutHoldDays }),
      ledger,
      fleet,
      desk,
      apiKeys,
      checkBooks: () => checkBooks(pool),
      capacity,
      cursors,
      newId,
      now,
    },
    live: { live, ledger, history, overview, capacity },
  };
}
