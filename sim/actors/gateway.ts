/**
 * A simulated gateway: the product's own code, assembled by `assemble`, with simulated clock, network, database and
 * disk. There is no listener: clients call `serve`. Only the machine's disk survives when the gateway dies.
 */

import type { ExternalInterfaces } from "../../gateway/src/assemble/port-interfaces.ts";
import { createTestDatabaseAccess, testSettings } from "../../gateway/src/assemble/testing.ts";
import { assemble } from "../../gateway/src/assemble.ts";
import { type NewId, newIds, publicIdSuffix } from "../../gateway/src/base/ids.ts";
import { noTracing } from "../../gateway/src/base/tracing.ts";
import type { RequestPathDependencies } from "../../gateway/src/inference/request-path-dependencies.ts";
import { SWEEP_MIGRATION } from "../../gateway/src/ledger/ledger.ts";
import { limitsWithLocalFallback } from "../../gateway/src/limits/local-fallback.ts";
import { openValkeyLimits } from "../../gateway/src/limits/valkey-limits.ts";
import type { Catalogue } from "../../gateway/src/metering/catalogue.ts";
import type { TokenMeter } from "../../gateway/src/metering/token-meter.ts";
import { openPayoutBatches, type PayoutBatches } from "../../gateway/src/operators/payouts.ts";
import type { ProviderEvent } from "../../gateway/src/payments/payment-provider.ts";
import { type PaymentEventResult, processEvent } from "../../gateway/src/payments/process-payment-events.ts";
import { SPOT_CHECKS_MIGRATION } from "../../gateway/src/trust/spot-checks/store.ts";
import type { SimDisk } from "../world/disk.ts";
import { createProcessClock, type ProcessLifetime } from "../world/process-lifetime.ts";
import type { World } from "../world/world.ts";
import { gatewayLog } from "./log.ts";

const WITHOUT_SPOT_CHECKS = SPOT_CHECKS_MIGRATION - 1;
const NEVER = new Promise<void>(() => {});

export const PEPPER = "a pepper of the simulated world";
const SPOOL = "/data/spool";
const SETTINGS = testSettings({ pepper: { current: PEPPER }, dispatchDeadlineMs: 10_000, jobMsMax: 120_000 });

/** The values that all gateways of a deployment share. */
export interface Deployment {
  world: World;
  limitsWhenAway: "refuse" | "local";
  payoutHoldDays: number;
  catalogue: () => Catalogue;
  meter: TokenMeter;
}

/** One gateway process. */
export interface RunningGateway {
  name: string;
  life: ProcessLifetime;
  gateway: RequestPathDependencies;
  newId: NewId;
  payouts: PayoutBatches;
  /** Handles an event of the payment provider. Resolves when all its effects are committed. */
  receive(event: ProviderEvent): Promise<PaymentEventResult>;
  /** Accepts no more requests, ends those in flight after the grace period, then exits. */
  drain(graceMs: number): Promise<void>;
}

interface Machine {
  number: number;
  skewMs: number;
  disk: SimDisk;
  /** How often this machine's gateway was started. Each start creates a new process. */
  starts: number;
}

export async function startGateway(
  deployment: Deployment,
  machine: Machine,
  life: ProcessLifetime,
): Promise<RunningGateway> {
  const { world, payoutHoldDays } = deployment;
  machine.starts += 1;
  const name = `gateway ${machine.number}.${machine.starts}`;
  const ports = portsOf(deployment, { name, machine, life });
  const running = await assemble(ports, { ...SETTINGS, makeUpCanary: world.answers.makeUp });
  const { gateway, newId } = running;
  const { pool } = ports.store;
  world.trace.add(name, `takes requests as ${ports.gatewayId}`);
  return {
    name,
    life,
    gateway,
    newId,
    payouts: openPayoutBatches({ pool, newId, holdDays: payoutHoldDays }),
    receive: (event) => processEvent({ pool, newId, onFailed: noneIsAutomatic }, event),
    async drain(graceMs) {
      world.trace.add(name, "drains");
      await running.drain({ delayMs: 0, graceMs });
      await running.close();
      world.trace.add(name, "ends");
      life.end();
    },
  };
}

/**
 * Creates the gateway's simulated surroundings. Random numbers come from one stream for IDs and one for everything
 * else, so that one purpose does not change the other's numbers.
 */
function portsOf(
  { world, limitsWhenAway, catalogue, meter }: Deployment,
  { name, machine, life }: { name: string; machine: Machine; life: ProcessLifetime },
): ExternalInterfaces {
  const chance = world.chance.of(name);
  const originMs = chance.between(0, 1_000_000);
  const clock = createProcessClock(life, world.scheduler, { skewMs: machine.skewMs, originMs });
  const log = gatewayLog(world, life, name);
  const newId = newIds(clock, chance.of("ids"));
  const pid = machine.number * 1_000 + machine.starts;
  return {
    clock,
    random: chance,
    newId,
    gatewayId: publicIdSuffix(newId()),
    log,
    tracing: noTracing,
    store: {
      ...createTestDatabaseAccess({ pool: world.store.pool(life) }),
      broadcast: world.store.broadcast(life),
      // The simulated database has no tables for spot checks; sim/hosts simulates their rules.
      schema: {
        number: WITHOUT_SPOT_CHECKS,
        reached: (number) => (number <= WITHOUT_SPOT_CHECKS || number === SWEEP_MIGRATION ? Promise.resolve() : NEVER),
      },
    },
    models: { catalogue, meter: () => meter, reader: { read: noLargeBody }, parseForm: noLargeBody },
    plane: world.network.gateway(name, { life, originMs }),
    deployment: Promise.resolve("simulated"),
    async limits({ gateways }) {
      const connect = (_url: string, options: Parameters<World["limitsServer"]["client"]>[1]) =>
        world.limitsServer.client(life, options);
      const shared = await openValkeyLimits({ url: "simulated", clock, log, connect });
      return limitsWhenAway === "local" ? limitsWithLocalFallback({ shared, clock, gateways }) : shared;
    },
    spool: {
      directory: SPOOL,
      disk: machine.disk.of(life),
      host: `machine-${machine.number}`,
      pid,
      isAlive: (other) => other === pid,
    },
    mail: undefined,
    payments: undefined,
    listener: undefined,
    close: () => Promise.resolve(),
  };
}

const noLargeBody = (): Promise<never> => Promise.reject(new Error("no body of a simulated client is large"));
const noneIsAutomatic = (): Promise<never> => Promise.reject(new Error("no simulated purchase is automatic"));
