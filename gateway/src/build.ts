/**
 * Puts the gateway together from its configuration: the only place that knows which adapter stands behind a port. What
 * was started is stopped in reverse order, also when a later step fails, so nothing is left half-started.
 */
import { systemClock } from "./base/clock.ts";
import { type NewId, newIds, suffixOf } from "./base/ids.ts";
import { systemRandom } from "./base/random.ts";
import { openBooks, openLimits, openPurchases } from "./build/books.ts";
import { CATALOGUE_FILE, openCatalogue, openMeters } from "./build/catalogue.ts";
import { doorsOf } from "./build/doors.ts";
import { openDispatch, openTrust } from "./build/fleet.ts";
import { type BuildOptions, derived, type Ground, type Stop } from "./build/ground.ts";
import { openPeople, type People } from "./build/people.ts";
import { openPlane } from "./build/plane.ts";
import { openStore } from "./build/store.ts";
import { openBroadcast } from "./db/broadcast.ts";
import { type Fleet, openFleet } from "./fleet/fleet.ts";
import type { History } from "./history/history.ts";
import { openBodyBudget } from "./http/body-budget.ts";
import { healthOf } from "./http/health.ts";
import { openCursors } from "./http/lists/cursors.ts";
import { openMetrics } from "./http/metrics.ts";
import { openReading } from "./http/reading.ts";
import { internalServer, publicServer } from "./http/server.ts";
import type { Gateway } from "./inference/gateway.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { loadCatalogue } from "./metering/catalogue.ts";
import { serverSecrets } from "./server-secrets.ts";
import { loadSecretCanaries } from "./trust/canaries.ts";

export interface App extends People {
  ledger: Ledger;
  fleet: Fleet;
  history: History;
  newId: NewId;
  publicServer: ReturnType<typeof publicServer>;
  internalServer: ReturnType<typeof internalServer>;
  /** Resolves once that node (`node_…`) takes requests. */
  nodeOnline: (nodeId: string) => Promise<void>;
  /** Null when the store is not the private one. */
  postgresPid: number | null;
  close(): Promise<void>;
}

export async function build(options: BuildOptions): Promise<App> {
  const stack: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (let stop = stack.pop(); stop !== undefined; stop = stack.pop()) await stop();
  };
  const { clock = systemClock, random = systemRandom() } = options;
  const newId = newIds(clock, random);
  const ground = {
    ...options,
    clock,
    random,
    newId,
    gatewayId: suffixOf(newId()),
    onClose: (stop: Stop) => stack.push(stop),
  };
  try {
    return await assemble(ground, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function assemble(ground: Ground, close: () => Promise<void>): Promise<App> {
  const { config, log, clock, newId } = ground;
  // Read once before anything is started, so that a mistake in them leaves nothing to clean up.
  const listed = await loadCatalogue(config.catalogueFile ?? CATALOGUE_FILE);
  const secretCanaries = await loadSecretCanaries(config.canariesFile, listed);
  const store = await openStore(ground);
  const { pool } = store;
  const secrets = await serverSecrets({
    dataDir: config.dataDir,
    pepper: config.keyPepper,
    receiptSeed: config.receiptSeed,
    planeSeed: config.plane.seed,
  });
  const broadcast = await openBroadcast({ pool, connection: store.connection, clock, log });
  ground.onClose(() => broadcast.close());
  const { meter, tables } = await openMeters(ground);
  const reading = openReading({ log, tables, base64Compat: config.embeddingsBase64Compat });
  ground.onClose(() => reading.close());
  const catalogue = await openCatalogue(ground, { pool, broadcast, meter });
  const plane = await openPlane(ground, secrets);
  const people = await openPeople(ground, { pool, broadcast }, secrets);
  const books = await openBooks(ground, store, secrets);
  const fleet = openFleet({ pool, newId, rules: config.nodeRules });
  const { roster, dispatcher, enforce } = openDispatch(ground, { plane, fleet, broadcast });
  const limits = await openLimits(ground);

  const metrics = openMetrics({
    nodes: () => roster.nodes().length,
    holds: () => books.leases.alive,
    models: () => catalogue.current().active.keys(),
    capacityOf: (model) => roster.capacity(model),
  });
  const gateway: Gateway = {
    clock,
    log,
    keys: people.apiKeys,
    catalogue: catalogue.current,
    meter,
    reader: reading,
    limits,
    dispatcher,
    watch: metrics.watch,
    ...books,
  };
  const trust = await openTrust(ground, { gateway, plane, fleet, roster, broadcast, enforce, secretCanaries });
  const payments = await openPurchases(ground, store);
  const cursors = openCursors(derived(secrets, "cursors"));
  const floor = { plane, fleet, broadcast, roster, dispatcher, enforce, trust };
  const bodies = { budget: openBodyBudget(config.bodyBudget), parseForm: reading.parseForm };
  const doors = doorsOf(ground, { ...floor, pool, gateway, people, books, payments, cursors, bodies });
  const health = healthOf({ ping: () => pool.query("select 1"), metrics });
  return {
    ...people,
    ledger: books.ledger,
    fleet,
    history: books.history,
    newId,
    publicServer: publicServer(doors),
    internalServer: internalServer(health),
    nodeOnline: (id) => roster.online(id),
    postgresPid: store.pid,
    close,
  };
}
