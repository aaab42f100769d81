/** What the internal port tells of the gateway: whether it is ready, and its metrics. */
import { watchLoopDelay } from "../base/loop-delay.ts";
import { healthOf } from "../http/health.ts";
import type { Metrics } from "../http/metrics/metrics.ts";
import type { Context } from "./context.ts";
import type { Ports } from "./ports.ts";
import type { Serving } from "./serving.ts";
import type { UpkeepFacts } from "./upkeep.ts";

export interface HealthSettings {
  version: string;
  /** While the limits' store is away: refuse requests, or let each gateway count alone. */
  limitsWhenAway: "refuse" | "local";
}

interface Needs {
  ports: Pick<Ports, "store" | "plane">;
  metrics: Metrics;
  serving: Serving;
  upkeep: UpkeepFacts;
}

export function openHealth(
  { clock, gatewayId, onClose }: Context,
  { version, limitsWhenAway }: HealthSettings,
  { ports, metrics, serving, upkeep }: Needs,
): ReturnType<typeof healthOf> {
  const { store } = ports;
  const { gateway, money, plane, dispatch } = serving;
  const { roster, dispatcher } = dispatch;
  const { pool } = store;
  const loopDelay = watchLoopDelay({ clock });
  onClose(() => loopDelay.stop());
  const dependencies = [
    { of: store.health, isNeeded: true },
    { of: gateway.limits.health, isNeeded: limitsWhenAway === "refuse" },
    { of: plane.health, isNeeded: ports.plane !== undefined },
  ];
  const health = healthOf({ metrics, dependencies });
  metrics.tellOf({
    about: { gateway: gatewayId, version },
    isReady: () => health.ready().status === "ready",
    nodes: () => roster.nodes().length,
    holds: () => money.leases.alive,
    models: () => gateway.catalogue().active.keys(),
    capacityOf: (model) => roster.capacity(model),
    waitingFor: (model) => dispatcher.waiting(model),
    dependencies: () => dependencies.map(({ of }) => of),
    pool: () => ({
      max: store.connections.max,
      total: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    clockOffsetMs: store.clockOffsetMs,
    ledger: () => money.ledger,
    checks: () => serving.checks.counts,
    settlementsWaiting: () => money.ledger.unsettled().length,
    months: upkeep.months,
    rollupBacklog: () => money.rollups?.backlog(),
    verdict: upkeep.verdict,
    losses: () => money.losses?.(),
    now: () => clock.now(),
    loopDelays: () => loopDelay.read(),
  });
  return health;
}
