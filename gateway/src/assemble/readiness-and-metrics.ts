/** Opens readiness and metrics for the internal port. */
import { watchLoopDelay } from "../base/event-loop-delay.ts";
import type { OpenFileMonitor } from "../base/open-file-limit.ts";
import { openHealth } from "../http/health.ts";
import type { Metrics } from "../http/metrics/metrics.ts";
import type { AssemblyContext } from "./assembly-context.ts";
import type { BackgroundJobResults } from "./background-jobs.ts";
import { type DependencySettings, listDependencies } from "./dependencies.ts";
import type { ExternalInterfaces } from "./port-interfaces.ts";
import type { RequestPipeline } from "./request-pipeline.ts";

export interface HealthSettings extends DependencySettings {
  version: string;
}

interface Needs {
  ports: Pick<ExternalInterfaces, "store" | "plane" | "shared">;
  metrics: Metrics;
  serving: RequestPipeline;
  upkeep: BackgroundJobResults;
  files: OpenFileMonitor | undefined;
}

export function openReadinessAndMetrics(
  { clock, gatewayId, onClose }: AssemblyContext,
  settings: HealthSettings,
  { ports, metrics, serving, upkeep, files }: Needs,
): ReturnType<typeof openHealth> {
  const { store } = ports;
  const { gateway, money, dispatch } = serving;
  const { roster, dispatcher } = dispatch;
  const { pool } = store;
  const loopDelay = watchLoopDelay({ clock });
  onClose(() => loopDelay.stop());
  const dependencies = listDependencies(settings, { ports, serving });
  const differences = () => ports.shared?.differences() ?? [];
  const obstacles = (): Record<string, string> => {
    const { trouble } = store.clock();
    const differing = differences().map(({ what, remedy }) => `${what}. Next: ${remedy}`);
    return {
      ...(trouble !== undefined && { clock: trouble }),
      ...(differing.length > 0 && { deployment: differing.join("; ") }),
    };
  };
  const health = openHealth({ metrics, dependencies, obstacles });
  metrics.tellOf({
    about: { gateway: gatewayId, version: settings.version },
    isReady: () => health.ready().status === "ready",
    nodes: () => roster.nodes().length,
    holds: () => money.leases.alive,
    models: () => gateway.catalogue().active.keys(),
    capacityOf: (model) => roster.capacity(model),
    waitingFor: (model) => dispatcher.waiting(model),
    dependencies: () => dependencies.map(({ of }) => of),
    differing: () => differences().map(({ setting }) => setting),
    pool: () => ({
      max: store.connections.max,
      total: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    databaseClock: store.clock,
    files: () => files?.state(),
    connectionLimits: () => store.connectionLimits?.() ?? [],
    connectionsRefused: () => store.connectionsRefused?.() ?? 0,
    limitsEvict: () => gateway.limits.evicts,
    ledger: () => money.ledger,
    checks: () => serving.checks.counts,
    settlementsWaiting: () => money.ledger.unsettled().length,
    spoolsLeft: () => money.processRecord.spoolsLeft(),
    months: upkeep.months,
    rollupBacklog: () => money.rollups?.backlog(),
    verdict: upkeep.verdict,
    losses: () => money.losses?.(),
    now: () => clock.now(),
    loopDelays: () => loopDelay.read(),
  });
  return health;
}
