/** Opens the parts that `inference/serve.ts` needs to serve requests, from the API key to the settlement. */
import { sleep } from "../base/clock.ts";
import type { RotatingSecret } from "../base/rotating-secret.ts";
import { type Fleet, openFleet } from "../fleet/fleet.ts";
import { NODE_RECORD_MIGRATION } from "../fleet/node-record.ts";
import type { TrafficMetrics } from "../http/metrics/traffic-metrics.ts";
import { InFlightRequests } from "../inference/in-flight.ts";
import { openRequestLogger } from "../inference/request-log.ts";
import type { RequestPathDependencies } from "../inference/request-path-dependencies.ts";
import { openRequestWaits } from "../inference/request-waits.ts";
import { type ApiKeys, createApiKeyService } from "../keys/api-keys.ts";
import { PEPPERS_MIGRATION } from "../keys/peppers.ts";
import type { SecretsOptions } from "../keys/secret-store.ts";
import { createAbsentPlane } from "../plane/absent-plane.ts";
import type { DispatchPlane } from "../plane/plane.ts";
import type { AssemblyContext } from "./assembly-context.ts";
import { exchangeDatabaseTimelines } from "./failover-loss-protection.ts";
import { type LedgerAndSpool, type MoneySettings, openLedgerAndSpool } from "./ledger-and-spool.ts";
import { type Dispatch, type FleetSettings, openDispatch } from "./nodes-and-dispatch.ts";
import type { DatabaseAccess, ExternalInterfaces } from "./port-interfaces.ts";
import { createNodeCheckCounter, type DeferredSpotChecks, openDeferredSpotChecks } from "./spot-checks.ts";

/** At the start, the gateway asks nodes on a shared plane for their state, and gives them this long to answer. */
const NODES_REPORT_MS = 1_000;

export interface RequestPipelineSettings extends FleetSettings, MoneySettings {
  /** The secret for hashing keys and tokens. */
  pepper: RotatingSecret;
}

export interface RequestPipeline {
  gateway: RequestPathDependencies;
  money: LedgerAndSpool;
  apiKeys: ApiKeys;
  plane: DispatchPlane;
  fleet: Fleet;
  dispatch: Dispatch;
  checks: Pick<DeferredSpotChecks, "counts" | "settled" | "watch">;
  /** Resolves once nodes that were already connected have reported their state. */
  nodesReported: Promise<void>;
}

type RequestPipelinePorts = Pick<ExternalInterfaces, "store" | "models" | "plane" | "limits" | "spool" | "tracing">;

export async function openRequestPipeline(
  context: AssemblyContext,
  settings: RequestPipelineSettings,
  ports: RequestPipelinePorts,
  traffic: Pick<TrafficMetrics, "watch" | "limitsUnavailable">,
): Promise<RequestPipeline> {
  const { clock, log, newId, onClose } = context;
  const { store, models, plane = createAbsentPlane() } = ports;
  const money = await openLedgerAndSpool(context, settings, ports);
  if (store.lineage !== undefined && plane.isShared) exchangeDatabaseTimelines(context, store.lineage, plane);
  const apiKeys = createApiKeyService(makeKeyOptions(context, settings.pepper, store));
  onClose(() => apiKeys.close());
  const { broadcast } = store;
  const fleet = openFleet({
    pool: store.pool,
    newId,
    rules: settings.nodeRules,
    keepsRecord: () => store.schema.number >= NODE_RECORD_MIGRATION,
  });
  const dispatch = openDispatch(context, settings, {
    plane,
    fleet,
    broadcast,
    checksOf: createNodeCheckCounter(store),
  });
  const checks = openDeferredSpotChecks(context, settings);
  // Nodes on a shared plane need a moment to report to a new gateway. A plane inside this process has just started, so
  // it has no nodes to wait for.
  const nodesReported = plane.isShared ? sleep(clock, NODES_REPORT_MS) : Promise.resolve();
  const limits = await ports.limits({
    gateways: () => dispatch.peers.gateways(),
    unavailable: traffic.limitsUnavailable,
  });
  onClose(() => limits.close());
  const gateway: RequestPathDependencies = {
    clock,
    log,
    keys: apiKeys,
    catalogue: models.catalogue,
    meter: models.meter,
    reader: models.reader,
    limits,
    refusals: money.refusals,
    unfunded: money.unfunded,
    refusedCalls: money.refusedCalls,
    requestAttempts: money.requestAttempts,
    ledger: money.ledger,
    requestWaits: openRequestWaits({ clock, log }),
    leases: money.leases,
    dispatcher: dispatch.dispatcher,
    inFlight: new InFlightRequests(),
    watch: traffic.watch,
    checks,
    requestLogger: openRequestLogger({ log, clock, tracing: ports.tracing }),
  };
  checks.open({ store, gateway, dispatch, fleet });
  return { gateway, money, apiKeys, plane, fleet, dispatch, checks, nodesReported };
}

export function makeKeyOptions(
  { clock, random, newId, log }: AssemblyContext,
  { current: pepper, old, next }: RotatingSecret,
  { pool, broadcast, schema }: DatabaseAccess,
): SecretsOptions {
  const keepsPeppers = (): boolean => schema.number >= PEPPERS_MIGRATION;
  return {
    pool,
    pepper,
    old,
    next,
    keepsPeppers,
    clock,
    random,
    newId,
    log,
    broadcast,
  };
}
