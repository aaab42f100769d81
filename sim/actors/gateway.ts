/**
 * A gateway: the real request path on simulated handles. It is put together as build.ts does it, with the same parts in the same
 * order; what differs is what stands behind the ports. A machine keeps its disk when its gateway dies, and nothing else.
 */

import { type NewId, newIds, suffixOf } from "../../gateway/src/base/ids.ts";
import { noTracing } from "../../gateway/src/base/tracing.ts";
import type { Context } from "../../gateway/src/build/context.ts";
import { openDispatch, openTrust } from "../../gateway/src/build/fleet.ts";
import { openRefusals } from "../../gateway/src/history/refusals.ts";
import { openUnfunded } from "../../gateway/src/history/unfunded.ts";
import type { Gateway } from "../../gateway/src/inference/gateway.ts";
import { openTelling } from "../../gateway/src/inference/story.ts";
import { UnderWay } from "../../gateway/src/inference/under-way.ts";
import { openApiKeys } from "../../gateway/src/keys/api-keys.ts";
import { keepLeases } from "../../gateway/src/ledger/leases.ts";
import { openLedger } from "../../gateway/src/ledger/ledger.ts";
import { openReplay } from "../../gateway/src/ledger/replay.ts";
import { openSpool } from "../../gateway/src/ledger/spool.ts";
import type { Limits } from "../../gateway/src/limits/limits.ts";
import { localWhenAway } from "../../gateway/src/limits/local-when-away.ts";
import { valkeyLimits } from "../../gateway/src/limits/valkey.ts";
import type { Catalogue } from "../../gateway/src/metering/catalogue.ts";
import type { Meter } from "../../gateway/src/metering/meter.ts";
import { openPayouts, type Payouts } from "../../gateway/src/operators/payouts.ts";
import type { ProviderEvent } from "../../gateway/src/payments/provider.ts";
import { type Taken, takeIn } from "../../gateway/src/payments/receive.ts";
import type { SimDisk } from "../world/disk.ts";
import { clockOf, type Life } from "../world/life.ts";
import type { World } from "../world/world.ts";
import { fleetOf, type NodeRecord } from "./fleet.ts";
import { logOf } from "./log.ts";

export const PEPPER = "a pepper of the simulated world";
const SPOOL = "/data/spool";
const DISPATCH_DEADLINE_MS = 10_000;
const JOB_MS_MAX = 120_000;

/** What all gateways of a deployment have in common. */
export interface Deployment {
  world: World;
  records: NodeRecord[];
  limitsWhenAway: "refuse" | "local";
  payoutHoldDays: number;
  catalogue: () => Catalogue;
  meter: Meter;
}

/** One run of a gateway's process. */
export interface RunningGateway {
  name: string;
  life: Life;
  gateway: Gateway;
  newId: NewId;
  payouts: Payouts;
  /** News of the payment provider. Resolves once all that follows from it is committed. */
  receive(event: ProviderEvent): Promise<Taken>;
  /** It takes no more requests, gives those under way so long, and ends. */
  drain(graceMs: number): Promise<void>;
}

interface Machine {
  number: number;
  skewMs: number;
  disk: SimDisk;
  /** How often its gateway was started: each run is another process. */
  starts: number;
}

export async function startGateway(
  { world, records, limitsWhenAway, payoutHoldDays, catalogue, meter }: Deployment,
  machine: Machine,
  life: Life,
): Promise<RunningGateway> {
  machine.starts += 1;
  const name = `gateway ${machine.number}.${machine.starts}`;
  const chance = world.chance.of(name);
  const originMs = chance.between(0, 1_000_000);
  const clock = clockOf(life, world.scheduler, { skewMs: machine.skewMs, originMs });
  const log = logOf(world, life, name);
  const newId = newIds(clock, chance.of("ids"));
  const gatewayId = suffixOf(newId());
  const stops: (() => Promise<void> | void)[] = [];
  const config = { dispatchDeadlineMs: DISPATCH_DEADLINE_MS, jobMsMax: JOB_MS_MAX, autoQuarantine: true };
  const onClose = (stop: () => Promise<void> | void): void => void stops.push(stop);
  const context = { config, clock, random: chance, newId, gatewayId, log, onClose } as unknown as Context;

  const pool = world.store.pool(life);
  const broadcast = world.store.broadcast(life);
  const plane = world.network.gateway(name, { life, originMs });
  const keys = openApiKeys({ pool, pepper: PEPPER, clock, random: chance, newId, log, broadcast });
  const refusals = openRefusals({ pool, clock });
  const pid = machine.number * 1_000 + machine.starts;
  const spool = await openSpool({
    directory: SPOOL,
    gatewayId,
    clock,
    log,
    host: `machine-${machine.number}`,
    pid,
    disk: machine.disk.of(life),
  });
  onClose(() => spool.close());
  const ledger = openLedger({ pool, clock, gatewayId, spool, log });
  onClose(() => ledger.close());
  const replay = openReplay({ spool, clock, log, ledger, isAlive: (other) => other === pid });
  onClose(() => replay.stop());
  void replay.run();
  const leases = keepLeases({ ledger, clock, log });
  onClose(() => leases.stop());
  const unfunded = openUnfunded({ pool, clock, log });
  const fleet = fleetOf(world, life, records);
  const { roster, dispatcher, peers, enforce } = openDispatch(context, { plane, fleet, broadcast });
  const shared = await valkeyLimits({
    url: "simulated",
    clock,
    log,
    connect: (_url, options) => world.limitsServer.client(life, options),
  });
  const limits: Limits =
    limitsWhenAway === "local" ? localWhenAway({ shared, clock, gateways: () => peers.gateways() }) : shared;
  onClose(() => limits.close());
  const gateway: Gateway = {
    clock,
    log,
    keys,
    catalogue,
    meter: () => meter,
    reader: { read: () => Promise.reject(new Error("no body of a simulated client is large")) },
    limits,
    refusals,
    unfunded,
    ledger,
    leases,
    dispatcher,
    underWay: new UnderWay(),
    watch: { ended: () => {}, refused: () => {} },
    telling: openTelling({ log, clock, tracing: noTracing }),
  };
  await openTrust(context, { gateway, plane, fleet, roster, peers, broadcast, enforce, secretCanaries: new Map() });
  world.trace.add(name, `takes requests as ${gatewayId}`);
  return {
    name,
    life,
    gateway,
    newId,
    payouts: openPayouts({ pool, newId, holdDays: payoutHoldDays }),
    receive: (event) => takeIn({ pool, newId, onFailed: noneIsAutomatic }, event),
    async drain(graceMs) {
      world.trace.add(name, "drains");
      const { underWay } = gateway;
      const graceOver = new Promise<void>((resolve) => clock.after(graceMs, resolve));
      await Promise.race([underWay.none(), graceOver]);
      underWay.stop();
      await underWay.none();
      for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) await stop();
      world.trace.add(name, "ends");
      life.end();
    },
  };
}

const noneIsAutomatic = (): Promise<never> => Promise.reject(new Error("no simulated purchase is automatic"));
