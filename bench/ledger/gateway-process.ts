/** One of the bench's gateway processes: a ledger with its connections and batches, controlled over IPC. */
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { createLog } from "../../gateway/src/base/log.ts";
import { type Connection, LEDGER_SESSION_OPTIONS, openPool } from "../../gateway/src/db/pool.ts";
import { openLedger } from "../../gateway/src/ledger/ledger.ts";
import type { GatewayMessage } from "./compare-gateways.ts";
import { runHoldSettlePairs } from "./hold-settle-pairs.ts";

/** The number of database connections that a gateway has for its ledger. */
const CONNECTIONS = 4;

const connection = JSON.parse(process.argv[2] as string) as Connection;
const pool = openPool(connection, {
  log: createLog("silent"),
  sizeMax: CONNECTIONS,
  sessionOptions: LEDGER_SESSION_OPTIONS,
});
const ledger = openLedger({ pool, clock: systemClock, gatewayId: `bench-${process.pid}` });

process.on("message", (order: GatewayMessage) => void obey(order));
process.once("disconnect", () => process.exit());
process.send?.({ isReady: true });

async function obey({ load, startAt }: GatewayMessage): Promise<void> {
  // Waits, so that all processes start at the same moment.
  await sleep(Math.max(0, startAt - systemClock.now()));
  process.send?.({ driven: await runHoldSettlePairs(ledger, load) });
}
