/**
 * Compares one gateway with several on one database, in alternating turns: how many pairs (a hold and its settlement)
 * all gateways complete, the cost of a pair, and what their connections wait for.
 */
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { systemClock } from "../../gateway/src/base/clock.ts";
import type { Uuid } from "../../gateway/src/base/ids.ts";
import type { PrivatePostgres } from "../../gateway/src/db/private-postgres.ts";
import { BenchProcess } from "../gateway/bench-process.ts";
import {
  HOST_COUNT,
  type HoldSettleFigures,
  type HoldSettleLoad,
  openAccounts,
  readDatabaseCpuUs,
} from "./hold-settle-pairs.ts";
import { type ConnectionStates, sampleConnections } from "./sample-connections.ts";

const TURNS = 5;
/** All gateway processes start this long after they are sent the load, which is longer than any message takes. */
const HEAD_START_MS = 50;
/**
 * A state of connections, such as a wait for a lock, is not shown if on average fewer connections than this were in it.
 */
const WAIT_SHOWN_MIN = 0.01;

/** A message to a gateway process. */
export interface GatewayMessage {
  load: HoldSettleLoad;
  startAt: number;
}

interface Setting {
  accounts: number;
  sharing: Sharing;
  concurrent: number;
  seconds: number;
}

/** What the gateways share: builders and hosts, only hosts, or neither. */
const SHARINGS = ["builders and hosts", "hosts", "nothing"] as const;
type Sharing = (typeof SHARINGS)[number];

interface GatewaysOptions {
  pool: pg.Pool;
  postgres: PrivatePostgres;
  /** The directory for the output of the gateway processes. */
  outDir: string;
  gateways: number;
  accounts: number[];
  concurrent: number[];
  seconds: number;
}

export async function compareGateways(options: GatewaysOptions): Promise<void> {
  const { pool, postgres, outDir, gateways, seconds } = options;
  const children = Array.from({ length: gateways }, (_, n) => startGateway(n, postgres, outDir));
  try {
    await Promise.all(
      children.map((child) => child.message((message) => "isReady" in (message as object) || undefined)),
    );
    console.log("accounts  in common            at once each   gateways   pairs/s   node µs   postgres µs   times one");
    for (const accounts of options.accounts)
      for (const sharing of SHARINGS)
        for (const concurrent of options.concurrent)
          await compare({ pool, postgres, children }, { accounts, sharing, concurrent, seconds });
  } finally {
    await Promise.all(children.map((child) => child.stop()));
  }
}

function startGateway(n: number, { connection }: PrivatePostgres, outDir: string): BenchProcess {
  const file = fileURLToPath(new URL("gateway-process.ts", import.meta.url));
  const command = [process.execPath, file, JSON.stringify(connection)];
  return new BenchProcess({ name: `gateway-${n}`, command, processors: null, outDir, channel: true });
}

interface Platform {
  pool: pg.Pool;
  postgres: PrivatePostgres;
  children: BenchProcess[];
}

async function compare({ pool, postgres, children }: Platform, setting: Setting): Promise<void> {
  const loads = await loadsOf(pool, children.length, setting);
  const measure = async (count: number): Promise<HoldSettleFigures> => {
    const before = readDatabaseCpuUs(postgres.pid);
    const driven = await driveAll(children.slice(0, count), loads);
    return { ...driven, database: readDatabaseCpuUs(postgres.pid) - before };
  };
  const turns: [one: HoldSettleFigures, all: HoldSettleFigures][] = [];
  await measure(children.length);
  for (let turn = 0; turn < TURNS; turn++) {
    // Alternates the order, so that neither number of gateways is always measured first.
    if (turn % 2 === 0) turns.push([await measure(1), await measure(children.length)]);
    else
      turns.push(
        [await measure(children.length), await measure(1)].reverse() as [HoldSettleFigures, HoldSettleFigures],
      );
  }
  const ratio = median(turns.map(([one, all]) => rate(all) / rate(one)));
  for (const [count, of] of [
    [1, turns.map(([one]) => one)],
    [children.length, turns.map(([, all]) => all)],
  ] as const) {
    const cells = [
      String(setting.accounts).padStart(8),
      `  ${setting.sharing.padEnd(21)}`,
      String(setting.concurrent).padStart(12),
      String(count).padStart(11),
      median(of.map(rate)).toFixed(0).padStart(10),
      median(of.map(({ node, pairs }) => node / pairs))
        .toFixed(0)
        .padStart(10),
      median(of.map(({ database, pairs }) => database / pairs))
        .toFixed(0)
        .padStart(14),
      (count === 1 ? "" : ratio.toFixed(2)).padStart(12),
    ];
    console.log(cells.join(""));
    console.log(`          ${told(await sampleConnections(pool, driveAll(children.slice(0, count), loads)))}`);
  }
}

/** Returns the load of each gateway. A single gateway has as many accounts and hosts as each of several. */
async function loadsOf(pool: pg.Pool, gateways: number, setting: Setting): Promise<HoldSettleLoad[]> {
  const { accounts, sharing, concurrent, seconds } = setting;
  const each = async (kind: "builder" | "host", count: number, isCommon: boolean): Promise<Uuid[][]> => {
    const first = await openAccounts(pool, kind, count);
    const all = [first];
    while (all.length < gateways) all.push(isCommon ? first : await openAccounts(pool, kind, count));
    return all;
  };
  const builders = await each("builder", accounts, sharing === "builders and hosts");
  const hosts = await each("host", HOST_COUNT, sharing !== "nothing");
  return Array.from({ length: gateways }, (_, n) => ({
    builders: builders[n] as Uuid[],
    hosts: hosts[n] as Uuid[],
    concurrent,
    seconds,
    isMixed: true,
  }));
}

/** Runs all gateways at once and sums their results. */
async function driveAll(
  children: BenchProcess[],
  loads: HoldSettleLoad[],
): Promise<Omit<HoldSettleFigures, "database">> {
  const startAt = systemClock.now() + HEAD_START_MS;
  const driven = await Promise.all(
    children.map((child, n) => {
      const answer = child.message((message) => (message as { driven?: Omit<HoldSettleFigures, "database"> }).driven);
      child.process.send({ load: loads[n] as HoldSettleLoad, startAt } satisfies GatewayMessage);
      return answer;
    }),
  );
  const sum = (of: (each: Omit<HoldSettleFigures, "database">) => number): number =>
    driven.reduce((all, each) => all + of(each), 0);
  return {
    pairs: sum(({ pairs }) => pairs),
    node: sum(({ node }) => node),
    seconds: sum((each) => each.seconds) / driven.length,
  };
}

const rate = ({ pairs, seconds }: HoldSettleFigures): number => pairs / seconds;
const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

function told(waits: ConnectionStates): string {
  return [...waits]
    .filter(([, connections]) => connections >= WAIT_SHOWN_MIN)
    .toSorted(([, a], [, b]) => b - a)
    .map(([what, connections]) => `${what} ${connections.toFixed(2)}`)
    .join(", ");
}
