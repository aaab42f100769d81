/**
 * Puts the gateway together from its configuration: the only place that knows which adapter stands behind a port. What
 * was started is stopped in reverse order, also when a later step fails, so nothing is left half-started.
 */
import { createHmac } from "node:crypto";
import { fileURLToPath } from "node:url";
import { nodePermissions } from "@tollgate/protocol/subjects.ts";
import prometheus from "prom-client";
import { type Accounts, openAccounts } from "./accounts/accounts.ts";
import { type Identities, openIdentities } from "./accounts/identities.ts";
import { type Clock, systemClock } from "./base/clock.ts";
import { type NewId, newIds, parseId, suffixOf, type Uuid } from "./base/ids.ts";
import { invariant } from "./base/invariant.ts";
import type { Log } from "./base/log.ts";
import { type Random, systemRandom } from "./base/random.ts";
import type { Config } from "./config.ts";
import { openBroadcast } from "./db/broadcast.ts";
import { startPrivatePostgres } from "./db/embedded.ts";
import { migrate } from "./db/migrate.ts";
import { type Connection, openPool } from "./db/pool.ts";
import { openDispatcher } from "./dispatch/dispatcher.ts";
import { openHub } from "./dispatch/hub/hub.ts";
import { Roster } from "./dispatch/roster.ts";
import { type Fleet, openFleet } from "./fleet/fleet.ts";
import { type History, openHistory } from "./history/history.ts";
import { openReceipts } from "./history/receipts.ts";
import { openRefusals } from "./history/refusals.ts";
import { type Health, internalServer, publicServer } from "./http/server.ts";
import type { Gateway } from "./inference/gateway.ts";
import { openApiKeys, openHostTokens, type Secrets } from "./keys/keys.ts";
import { keepLeases } from "./ledger/leases.ts";
import { type Ledger, openLedger } from "./ledger/ledger.ts";
import { recordPrices } from "./ledger/prices.ts";
import { memoryLimits } from "./limits/memory.ts";
import { valkeyLimits } from "./limits/valkey.ts";
import { type Catalogue, loadCatalogue } from "./metering/catalogue.ts";
import { openMetering } from "./metering/metering.ts";
import { serverSecrets } from "./server-secrets.ts";

const SQL_DIRECTORY = fileURLToPath(new URL("../sql", import.meta.url));
export const CATALOGUE_FILE = fileURLToPath(new URL("../catalogue/models.json", import.meta.url));
const PARTITIONS_EVERY_MS = 6 * 60 * 60 * 1000;

export interface BuildOptions {
  config: Config;
  log: Log;
  progress: (what: string) => void;
  /** The gateway cannot go on: its store was taken away. */
  onLost: (error: Error) => void;
  clock?: Clock;
  random?: Random;
}

export interface App {
  accounts: Accounts;
  identities: Identities;
  apiKeys: Secrets;
  hostTokens: Secrets;
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
  try {
    return await assemble(options, (stop) => stack.push(stop), close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function assemble(
  options: BuildOptions,
  onClose: (stop: () => Promise<void> | void) => void,
  close: () => Promise<void>,
): Promise<App> {
  const { config, log, progress, clock = systemClock, random = systemRandom() } = options;
  const newId = newIds(clock, random);
  const gatewayId = suffixOf(newId());
  const catalogue = await loadCatalogue(config.catalogueFile ?? CATALOGUE_FILE);

  const store = await openStore(options, clock, onClose);
  const { pool } = store;
  await recordPrices(pool, priceRows(catalogue));
  const secrets = await serverSecrets({
    dataDir: config.dataDir,
    pepper: config.keyPepper,
    receiptSeed: config.receiptSeed,
    planeSeed: config.plane.seed,
  });

  progress("loading the tokenizers");
  const metering = await openMetering({ log });
  onClose(() => metering.close());
  for (const {
    id,
    build: { tokenizer },
  } of catalogue.active.values()) {
    if (metering.meter(tokenizer) === undefined)
      throw new Error(`The catalogue gives ${id} an unknown tokenizer: ${tokenizer}`);
  }

  const plane = await openHub({
    host: config.plane.host,
    port: config.plane.port,
    clock,
    random,
    log,
    ...(secrets.planeSeed !== undefined && { accountSeed: secrets.planeSeed }),
    ...(config.plane.publicUrl !== undefined && { publicUrl: config.plane.publicUrl }),
  });
  onClose(() => plane.close());
  await secrets.keepPlaneSeed(plane.accountSeed);

  const accounts = openAccounts({ pool, newId });
  const { publicUrl } = config;
  // Drawn from the pepper: gateways that share keys share sessions, and there is one secret less to keep.
  const secret = createHmac("sha256", secrets.pepper).update("console sessions").digest("base64url");
  const identities = await openIdentities({ pool, newId, log, secret, publicUrl });
  const broadcast = await openBroadcast({ pool, connection: store.connection, clock, log });
  onClose(() => broadcast.close());
  const keyOptions = { pool, pepper: secrets.pepper, clock, random, newId, log, broadcast };
  const apiKeys = openApiKeys(keyOptions);
  onClose(() => apiKeys.close());
  const hostTokens = openHostTokens(keyOptions);
  onClose(() => hostTokens.close());
  const fleet = openFleet({ pool, newId });
  const history = openHistory({ pool });
  const receipts = await openReceipts({ pool, seed: Buffer.from(secrets.receiptSeed, "base64url") });
  onClose(
    clock.every(PARTITIONS_EVERY_MS, () => {
      history.makePartitions().catch((error) => log.error({ err: error }, "making history partitions failed"));
    }),
  );
  const ledger = openLedger({ pool, clock, gatewayId });
  onClose(() => ledger.idle());
  const leases = keepLeases({ ledger, clock, log });
  onClose(() => leases.stop());

  const roster = new Roster({ plane, clock, random, log, licence: (id) => licence(fleet, id) });
  onClose(() => roster.close());
  const dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId, deadlineMs: config.dispatchDeadlineMs });
  onClose(() => dispatcher.close());

  const meter: Gateway["meter"] = (tokenizer) => {
    const found = metering.meter(tokenizer);
    invariant(found !== undefined, `no meter for ${tokenizer}`);
    return found;
  };
  const { valkeyUrl } = config;
  const limits = valkeyUrl === undefined ? memoryLimits({ clock }) : await valkeyLimits({ url: valkeyUrl, clock, log });
  onClose(() => limits.close());
  const refusals = openRefusals({ pool, clock });
  onClose(() => refusals.idle());
  const gateway: Gateway = {
    clock,
    log,
    keys: apiKeys,
    catalogue: () => catalogue,
    meter,
    limits,
    refusals,
    ledger,
    leases,
    dispatcher,
  };
  const door = { clock, newId, log };
  const doors = {
    openai: { door, gateway, speeds: () => ({ ttftP50Ms: null, tpsP50: null }) },
    nodes: {
      door,
      log,
      hostTokens,
      fleet,
      catalogue: () => catalogue,
      mint: (id: string) => plane.mint(id),
      subjects: nodePermissions,
      isConnected: (id: string) => roster.nodes().some((node) => node.id === id),
      changed: (id: string) => roster.forget(id),
      receiptOfHost: async (host: Uuid, id: Uuid) => {
        const record = await history.findServed(host, id);
        return record === undefined ? undefined : receipts.of(record);
      },
    },
    console: {
      door,
      identities,
      balance: (id: Uuid) => ledger.balance(id),
      receiptOfBuilder: async (builder: Uuid, id: Uuid) => {
        const record = await history.find(builder, id);
        return record === undefined ? undefined : receipts.of(record);
      },
      publicUrl,
    },
    receipts: { door, keys: () => receipts.keys() },
    reference: { door, publicUrl },
  };
  const health = healthOf({
    ping: () => pool.query("select 1"),
    nodes: () => roster.nodes().length,
    holds: () => leases.alive,
  });
  return {
    accounts,
    identities,
    apiKeys,
    hostTokens,
    ledger,
    fleet,
    history,
    newId,
    publicServer: publicServer(doors),
    internalServer: internalServer(health),
    nodeOnline: (id) => roster.online(id),
    postgresPid: store.pid,
    close,
  };
}

async function openStore(
  { config, log, progress, onLost }: BuildOptions,
  clock: Clock,
  onClose: (stop: () => Promise<void>) => void,
): Promise<{ pool: ReturnType<typeof openPool>; connection: Connection; pid: number | null }> {
  let connection: Connection;
  let pid: number | null = null;
  if (config.databaseUrl === undefined) {
    const postgres = await startPrivatePostgres({ dataDir: config.dataDir, log, clock, progress, onLost });
    onClose(() => postgres.stop());
    connection = postgres.connection;
    pid = postgres.pid;
  } else {
    connection = { connectionString: config.databaseUrl };
  }
  const pool = openPool(connection, { log, sizeMax: config.databasePoolMax });
  onClose(() => pool.end());
  progress("bringing the database up to date");
  await migrate(pool, { directory: SQL_DIRECTORY, log });
  return { pool, connection, pid };
}

function priceRows(catalogue: Catalogue): Parameters<typeof recordPrices>[1] {
  return [...catalogue.active.values()].map((model) => ({
    version: model.priceVersion,
    model: model.id,
    in: model.prices.in,
    out: model.prices.out,
  }));
}

/** What the records allow a node that asks for work: nothing unless its host elected models and it is in good standing. */
async function licence(fleet: Fleet, nodeId: string): ReturnType<ConstructorParameters<typeof Roster>[0]["licence"]> {
  const id = parseId("node", nodeId);
  const node = id === undefined ? undefined : await fleet.find(null, id);
  if (node === undefined || node.standing !== "ready") return undefined;
  return { nodeId: node.id, hostAccountId: node.accountId, models: node.models };
}

function healthOf(facts: { ping: () => Promise<unknown>; nodes: () => number; holds: () => number }): Health {
  const registry = new prometheus.Registry();
  prometheus.collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, read: () => number): void => {
    new prometheus.Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  gauge("tollgate_nodes_connected", "Nodes connected to this gateway.", facts.nodes);
  gauge("tollgate_requests_in_flight", "Requests that hold credit now.", facts.holds);
  return {
    ready: () =>
      facts.ping().then(
        () => undefined,
        () => "the database does not answer",
      ),
    metrics: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}
