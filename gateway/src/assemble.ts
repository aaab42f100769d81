/**
 * Assembles a gateway from its ports (interfaces to the outside world). The program, the HTTP tests, the stage (a
 * platform for tests) and the simulator all use it. Opened parts are closed in reverse order, even if a later step
 * fails.
 */
import type { AccountServices } from "./accounts/services.ts";
import { type AccountSettings, openAccountServices } from "./assemble/accounts.ts";
import type { AssemblyContext, CloseFunction } from "./assemble/assembly-context.ts";
import { type BackgroundJobSettings, startBackgroundJobs } from "./assemble/background-jobs.ts";
import { type DrainTimes, drainGateway } from "./assemble/drain.ts";
import { startNodeSupervision } from "./assemble/nodes-and-dispatch.ts";
import { type NotificationSettings, openNotificationServices } from "./assemble/notifications.ts";
import type { ExternalInterfaces, Listener } from "./assemble/port-interfaces.ts";
import { type HealthSettings, openReadinessAndMetrics } from "./assemble/readiness-and-metrics.ts";
import {
  openRequestPipeline,
  type RequestPipeline,
  type RequestPipelineSettings,
} from "./assemble/request-pipeline.ts";
import { openServers, type Servers } from "./assemble/servers.ts";
import { openSite, type SiteSettings } from "./assemble/site.ts";
import type { NewId } from "./base/ids.ts";
import { VERIFIER_FAILURES_MAX } from "./base/node-trust-thresholds.ts";
import type { Fleet } from "./fleet/fleet.ts";
import { type Metrics, openMetrics } from "./http/metrics/metrics.ts";
import type { TrafficMetrics } from "./http/metrics/traffic-metrics.ts";
import type { RequestPathDependencies } from "./inference/request-path-dependencies.ts";
import type { KeyServices } from "./keys/services.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { NotificationServices } from "./notifications/services.ts";
import type { RouteServices } from "./routes/services.ts";
import type { Trust } from "./trust/trust.ts";

/** The settings of each part. `settingsOf` in build/assembly-settings.ts derives them from the configuration. */
export interface Settings
  extends RequestPipelineSettings,
    AccountSettings,
    NotificationSettings,
    SiteSettings,
    BackgroundJobSettings,
    HealthSettings {
  /** The durations of a drain (orderly shutdown) if none are given. */
  drain: DrainTimes;
}

interface RunningGateway {
  /** Serves requests; `inference/serve.ts` is called with it. */
  gateway: RequestPathDependencies;
  ledger: Ledger;
  fleet: Fleet;
  newId: NewId;
  /** The ID of the deployment to which the database belongs. */
  deployment: string;
  /** Resolves when the node with this ID (`node_…`) accepts requests. */
  nodeOnline: (nodeId: string) => Promise<void>;
  /**
   * Reports not ready, waits for requests in flight, and resolves when none is left. Runs once, even if called again;
   * `close` includes it.
   */
  drain: (times?: DrainTimes) => Promise<void>;
  /** Drains the gateway, then closes everything, including the ports. */
  close: () => Promise<void>;
}

/** A gateway that listens for connections. */
export interface ListeningGateway
  extends RunningGateway,
    AccountServices,
    KeyServices,
    Pick<Servers, "port" | "internalPort" | "warm"> {
  /** The parts of the gateway that routes use. */
  parts: RouteServices;
}

/**
 * With a listener, the gateway serves the API, the console and the internal port. Without one, it serves only callers
 * of `serve`.
 */
export function assemble(
  ports: ExternalInterfaces & { listener: Listener },
  settings: Settings,
): Promise<ListeningGateway>;
export function assemble(ports: ExternalInterfaces, settings: Settings): Promise<RunningGateway>;
export async function assemble(
  ports: ExternalInterfaces,
  settings: Settings,
): Promise<RunningGateway | ListeningGateway> {
  const { clock, random, newId, gatewayId, log, listener } = ports;
  const stack: CloseFunction[] = [() => ports.close()];
  const context: AssemblyContext = { clock, random, newId, gatewayId, log, onClose: (stop) => void stack.push(stop) };
  const close = (): Promise<void> => closeAll(stack);
  const onClosed = (stop: CloseFunction): void => void stack.unshift(stop);
  try {
    const front = listener && (await openFront(context, settings, { ...ports, listener }));
    const serving = await openRequestPipeline(context, settings, ports, front?.metrics ?? NOBODY_COUNTS);
    // Waits until the plane is known to belong to this database, because before that no node may get messages.
    const deployment = await ports.deployment;
    await ports.store.lineage?.remember();
    const trust = await startNodeSupervision(context, settings, { ...serving, broadcast: ports.store.broadcast });
    serving.checks.watch({
      isOdd: (nodeId) => trust.lengthSuspicion(nodeId),
      isUnreliable: (nodeId) => trust.reliability(nodeId).failures > VERIFIER_FAILURES_MAX,
    });
    const facts = { serving, trust, deployment, close };
    if (front === undefined) return running(context, settings, { ...facts, doors: undefined });
    const parts = await openSite(context, settings, ports, { ...front, serving, trust });
    const upkeep = await startBackgroundJobs(context, settings, { ports, parts, ...front });
    const health = openReadinessAndMetrics(context, settings, {
      ports,
      serving,
      upkeep,
      files: parts.door.files,
      ...front,
    });
    // Waits, because requests would be refused until nodes that can serve them have reported.
    await serving.nodesReported;
    const doors = await openServers(context, { ...ports, ...front, parts, health, onClosed });
    const { port, internalPort, warm } = doors;
    log.info({ deployment, port, internalPort }, "serving");
    const served = running(context, settings, { ...facts, doors: { ...doors, notReady: health.drain } });
    const { apiKeys, hostTokens, sessionKeys } = parts;
    return { ...served, ...front.accounts, apiKeys, hostTokens, sessionKeys, parts, port, internalPort, warm };
  } catch (error) {
    await close().catch((failure) =>
      log.error({ err: failure }, "the gateway did not start, and cleaning up failed too"),
    );
    throw error;
  }
}

interface Front {
  listener: Listener;
  metrics: Metrics;
  accounts: AccountServices;
  notifying: NotificationServices;
}

/** Opens parts that only a listening gateway needs: sign-in and metrics. */
async function openFront(
  context: AssemblyContext,
  settings: AccountSettings & NotificationSettings,
  { listener, ...ports }: ExternalInterfaces & { listener: Listener },
): Promise<Front> {
  const notifying = openNotificationServices(context, settings, ports);
  return { listener, metrics: openMetrics(), accounts: await openAccountServices(context, settings, ports), notifying };
}

/** Counts nothing, because without a listener the metrics cannot be read. */
const NOBODY_COUNTS: Pick<TrafficMetrics, "watch" | "limitsUnavailable"> = {
  watch: { ended() {}, withheld() {}, refused() {} },
  limitsUnavailable() {},
};

interface Opened {
  serving: RequestPipeline;
  trust: Trust;
  deployment: string;
  doors: (Pick<Servers, "leave" | "cutOff"> & { notReady: () => void }) | undefined;
  close: () => Promise<void>;
}

function running(
  { clock, log, newId }: AssemblyContext,
  settings: Pick<Settings, "drain">,
  { serving, trust, deployment, doors, close }: Opened,
): RunningGateway {
  const { gateway, money, fleet, dispatch } = serving;
  const drained = {
    inFlight: gateway.inFlight,
    notReady() {
      doors?.notReady();
      trust.stop().catch((error) => log.error({ err: error }, "could not stop the node probes"));
    },
    leave: async (quietMs: number) => await doors?.leave(quietMs),
    cutOff: () => doors?.cutOff(),
    isSpoolEmpty: money.isSpoolEmpty,
  };
  let draining: Promise<void> | undefined;
  const drainOnce = (times = settings.drain): Promise<void> => {
    draining ??= drainGateway(drained, { ...times, clock, log });
    return draining;
  };
  return {
    gateway,
    ledger: money.ledger,
    fleet,
    newId,
    deployment,
    nodeOnline: (id) => dispatch.roster.online(id),
    drain: drainOnce,
    async close() {
      await drainOnce();
      await close();
      log.info("stopped");
    },
  };
}

/** Closes everything in reverse order. After a failure it continues, and then throws the first error. */
async function closeAll(stack: CloseFunction[]): Promise<void> {
  const failures: unknown[] = [];
  for (let stop = stack.pop(); stop !== undefined; stop = stack.pop()) {
    try {
      await stop();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
