/**
 * Puts the gateway together from its configuration: the only place that knows which adapter stands behind a port. What
 * was started is stopped in reverse order, also when a later step fails, so nothing is left half-started.
 */
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { nodePermissions } from "@tollgate/protocol/subjects.ts";
import type pg from "pg";
import { type Accounts, openAccounts } from "./accounts/accounts.ts";
import { type Identities, openIdentities } from "./accounts/identities.ts";
import { type Clock, systemClock } from "./base/clock.ts";
import { type NewId, newIds, parseId, publicId, suffixOf } from "./base/ids.ts";
import { invariant } from "./base/invariant.ts";
import type { Log } from "./base/log.ts";
import { ZERO } from "./base/money.ts";
import { type Random, systemRandom } from "./base/random.ts";
import type { Config } from "./config.ts";
import { ACCOUNT_TOPIC, type Broadcast, CATALOGUE_TOPIC, NODE_TOPIC, openBroadcast } from "./db/broadcast.ts";
import { startPrivatePostgres } from "./db/embedded.ts";
import { migrate } from "./db/migrate.ts";
import { type Connection, openPool } from "./db/pool.ts";
import { CREDENTIAL_TTL_MS_MAX } from "./dispatch/credentials/user-jwt.ts";
import { type Dispatcher, openDispatcher } from "./dispatch/dispatcher.ts";
import { openHub } from "./dispatch/hub/hub.ts";
import { openNatsPlane } from "./dispatch/nats/plane.ts";
import type { Plane } from "./dispatch/plane.ts";
import { Roster } from "./dispatch/roster.ts";
import { type Fleet, openFleet } from "./fleet/fleet.ts";
import { openEarnings } from "./history/earnings.ts";
import { type History, openHistory, type RequestRecord } from "./history/history.ts";
import { openReceipts } from "./history/receipts.ts";
import { openRefusals } from "./history/refusals.ts";
import { healthOf } from "./http/health.ts";
import { type Cursors, openCursors } from "./http/lists/cursors.ts";
import { nodeDesk } from "./http/nodes/desk.ts";
import type { NodeWork } from "./http/nodes/work.ts";
import { type Doors, internalServer, publicServer } from "./http/server.ts";
import type { Gateway } from "./inference/gateway.ts";
import { runPrivately } from "./inference/private-job.ts";
import { openApiKeys, openHostTokens, type Secrets } from "./keys/keys.ts";
import { keepLeases } from "./ledger/leases.ts";
import { type Ledger, openLedger } from "./ledger/ledger.ts";
import { recordPrices } from "./ledger/prices.ts";
import type { Limits } from "./limits/limits.ts";
import { memoryLimits } from "./limits/memory.ts";
import { valkeyLimits } from "./limits/valkey.ts";
import { type Catalogue, loadCatalogue } from "./metering/catalogue.ts";
import { type LiveCatalogue, openLiveCatalogue } from "./metering/live-catalogue.ts";
import { openMetering } from "./metering/metering.ts";
import { type ServerSecrets, serverSecrets } from "./server-secrets.ts";
import { type Trust, watchNodes } from "./trust/trust.ts";

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

type Stop = () => Promise<void> | void;

/** What every part stands on. `onClose` is called in the order of starting; closing runs the other way. */
interface Ground extends BuildOptions {
  clock: Clock;
  random: Random;
  newId: NewId;
  gatewayId: string;
  onClose: (stop: Stop) => void;
}

async function assemble(ground: Ground, close: () => Promise<void>): Promise<App> {
  const { config, log, clock, newId } = ground;
  // Read once before anything is started, so that a mistake in it leaves nothing to clean up.
  await loadCatalogue(config.catalogueFile ?? CATALOGUE_FILE);
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
  const meter = await openMeters(ground);
  const catalogue = await openCatalogue(ground, { pool, broadcast, meter });
  const plane = await openPlane(ground, secrets);
  const people = await openPeople(ground, { pool, broadcast }, secrets);
  const books = await openBooks(ground, store, secrets);
  const fleet = openFleet({ pool, newId });
  const { roster, dispatcher, enforce } = openDispatch(ground, { plane, fleet, broadcast });
  const limits = await openLimits(ground);

  const gateway: Gateway = {
    clock,
    log,
    keys: people.apiKeys,
    catalogue: catalogue.current,
    meter,
    limits,
    dispatcher,
    ...books,
  };
  const trust = await openTrust(ground, { gateway, plane, fleet, roster, broadcast, enforce });
  const cursors = openCursors(derived(secrets, "cursors"));
  const parts = { gateway, plane, fleet, roster, dispatcher, broadcast, enforce, trust, people, books, cursors };
  const doors = doorsOf(ground, parts);
  const health = healthOf({
    ping: () => pool.query("select 1"),
    nodes: () => roster.nodes().length,
    holds: () => books.leases.alive,
  });
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

interface Store {
  pool: pg.Pool;
  connection: Connection;
  /** Of the private PostgreSQL; null when the store is another. */
  pid: number | null;
}

async function openStore({ config, log, clock, progress, onLost, onClose }: Ground): Promise<Store> {
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

async function openMeters({ log, progress, onClose }: Ground): Promise<Gateway["meter"]> {
  progress("loading the tokenizers");
  const metering = await openMetering({ log });
  onClose(() => metering.close());
  return (tokenizer) => {
    const found = metering.meter(tokenizer);
    invariant(found !== undefined, `there is no tokenizer ${tokenizer}`);
    return found;
  };
}

async function openCatalogue(
  { config, log }: Ground,
  { pool, broadcast, meter }: { pool: pg.Pool; broadcast: Broadcast; meter: Gateway["meter"] },
): Promise<LiveCatalogue> {
  const catalogue = await openLiveCatalogue({
    file: config.catalogueFile ?? CATALOGUE_FILE,
    async accept(candidate) {
      for (const { build } of candidate.active.values()) meter(build.tokenizer);
      await recordPrices(pool, priceRows(candidate));
    },
  });
  broadcast.on(CATALOGUE_TOPIC, () => {
    catalogue.reload().then(
      () => log.info({ priceVersion: catalogue.current().priceVersion }, "the catalogue was read again"),
      (error) => log.error({ err: error }, "the catalogue was not replaced"),
    );
  });
  return catalogue;
}

async function openPlane(ground: Ground, secrets: ServerSecrets): Promise<Plane> {
  const { config, clock, random, log, gatewayId, onClose } = ground;
  const { host, port, publicUrl, credentialTtlMs, tls, nats } = config.plane;
  const { planeSeed: accountSeed } = secrets;
  const common = { clock, random, log, credentialTtlMs, ...(publicUrl !== undefined && { publicUrl }) };
  if (nats !== undefined) {
    invariant(accountSeed !== undefined, "the configuration has an account's seed beside NATS_URL");
    const plane = await openNatsPlane({ ...common, ...nats, accountSeed, gatewayId });
    onClose(() => plane.close());
    return plane;
  }
  const hub = await openHub({
    ...common,
    host,
    port,
    ...(accountSeed !== undefined && { accountSeed }),
    ...(tls !== undefined && { tls: await readCertificate(tls) }),
  });
  onClose(() => hub.close());
  await secrets.keepPlaneSeed(hub.accountSeed);
  return hub;
}

async function readCertificate({ certFile, keyFile }: { certFile: string; keyFile: string }) {
  const read = (file: string, variable: string): Promise<string> =>
    readFile(file, "utf8").catch((cause) => {
      throw new Error(`${variable}: ${file} cannot be read (${cause.code})`, { cause });
    });
  return { cert: await read(certFile, "PLANE_TLS_CERT"), key: await read(keyFile, "PLANE_TLS_KEY") };
}

/** Drawn from the pepper: gateways that share keys share these too, and there are fewer secrets to keep. */
const derived = ({ pepper }: ServerSecrets, purpose: string): string =>
  createHmac("sha256", pepper).update(purpose).digest("base64url");

type People = Pick<App, "accounts" | "identities" | "apiKeys" | "hostTokens">;

/** Who may do what: accounts, sign-ins, keys and tokens. */
async function openPeople(
  { config, clock, random, newId, log, onClose }: Ground,
  { pool, broadcast }: { pool: pg.Pool; broadcast: Broadcast },
  secrets: ServerSecrets,
): Promise<People> {
  const { pepper } = secrets;
  const secret = derived(secrets, "console sessions");
  const identities = await openIdentities({ pool, newId, log, secret, publicUrl: config.publicUrl });
  const keyOptions = { pool, pepper, clock, random, newId, log, broadcast };
  const apiKeys = openApiKeys(keyOptions);
  onClose(() => apiKeys.close());
  const hostTokens = openHostTokens(keyOptions);
  onClose(() => hostTokens.close());
  return { accounts: openAccounts({ pool, newId }), identities, apiKeys, hostTokens };
}

/** Money and the record of it. */
async function openBooks({ clock, log, gatewayId, onClose }: Ground, { pool }: Store, { receiptSeed }: ServerSecrets) {
  const history = openHistory({ pool });
  const earnings = openEarnings({ pool });
  onClose(
    clock.every(PARTITIONS_EVERY_MS, () => {
      history.makePartitions().catch((error) => log.error({ err: error }, "making history partitions failed"));
    }),
  );
  const receipts = await openReceipts({ pool, seed: Buffer.from(receiptSeed, "base64url") });
  const refusals = openRefusals({ pool, clock });
  onClose(() => refusals.idle());
  const ledger = openLedger({ pool, clock, gatewayId });
  onClose(() => ledger.idle());
  const leases = keepLeases({ ledger, clock, log });
  onClose(() => leases.stop());
  return { history, earnings, receipts, refusals, ledger, leases };
}

interface Floor {
  plane: Plane;
  fleet: Fleet;
  broadcast: Broadcast;
}

type Enforce = (nodeId: string | undefined) => Promise<void>;

function openDispatch(ground: Ground, { plane, fleet, broadcast }: Floor) {
  const { config, clock, random, log, gatewayId, onClose } = ground;
  const roster = new Roster({ plane, clock, random, log, licence: (id) => licence(fleet, id) });
  onClose(() => roster.close());
  /** What the records say of a node holds from now on, on every gateway that hears of it. */
  const enforce = async (nodeId: string | undefined): Promise<void> => {
    await roster.review(nodeId);
    if (nodeId === undefined || !(await isBarred(fleet, nodeId))) return;
    // The node is offered nothing from here on; a plane that cannot refuse it now does so when it can.
    await plane.revoke(nodeId).catch((error) => log.error({ err: error, node: nodeId }, "a node is not refused yet"));
  };
  broadcast.on(NODE_TOPIC, (nodeId) => {
    enforce(nodeId).catch((error) => log.error({ err: error, node: nodeId }, "a change of a node did not take hold"));
  });
  broadcast.on(ACCOUNT_TOPIC, () => {
    roster.review().catch((error) => log.error({ err: error }, "reviewing the nodes failed"));
  });
  const dispatcher = openDispatcher({ plane, roster, clock, log, gatewayId, deadlineMs: config.dispatchDeadlineMs });
  onClose(() => dispatcher.close());
  return { roster, dispatcher, enforce };
}

/** Watches the nodes. Those that were barred lately are refused again: a plane may have forgotten it meanwhile. */
async function openTrust(
  ground: Ground,
  { gateway, plane, fleet, roster, broadcast, enforce }: Floor & { gateway: Gateway; roster: Roster; enforce: Enforce },
): Promise<Trust> {
  const { config, clock, random, newId, log, onClose } = ground;
  const barred = await fleet.barredSince(new Date(clock.now() - CREDENTIAL_TTL_MS_MAX));
  const refuse = (node: string): Promise<void> =>
    // A plane that is away makes up for it when it is back.
    plane.revoke(node).catch((error) => log.error({ err: error, node }, "a barred node is not refused yet"));
  await Promise.all(barred.map((id) => refuse(publicId("node", id))));
  const trust = watchNodes({
    gateway,
    roster,
    automatic: config.autoQuarantine,
    newId,
    clock,
    random,
    log,
    async quarantine(nodeId, { reason, evidence }) {
      const id = parseId("node", nodeId);
      invariant(id !== undefined, "a connected node has a public id");
      await fleet.quarantine(id, { reason, evidence, by: "platform" });
      log.warn({ node: nodeId, reason, evidence }, "a node was put in quarantine");
      await enforce(nodeId);
      await broadcast.send(NODE_TOPIC, nodeId);
    },
  });
  onClose(() => trust.stop());
  return trust;
}

async function openLimits({ config, clock, log, onClose }: Ground): Promise<Limits> {
  const { valkeyUrl } = config;
  const limits = valkeyUrl === undefined ? memoryLimits({ clock }) : await valkeyLimits({ url: valkeyUrl, clock, log });
  onClose(() => limits.close());
  return limits;
}

interface Parts extends Floor {
  gateway: Gateway;
  roster: Roster;
  dispatcher: Dispatcher;
  enforce: Enforce;
  trust: Trust;
  people: People;
  books: Awaited<ReturnType<typeof openBooks>>;
  cursors: Cursors;
}

function doorsOf(ground: Ground, parts: Parts): Doors {
  const { config, clock, newId, log } = ground;
  const { gateway, plane, fleet, broadcast, people, books } = parts;
  const { publicUrl } = config;
  const { history, receipts, ledger } = books;
  const door = { clock, newId, log };
  const signed = (record: RequestRecord | undefined) => (record === undefined ? undefined : receipts.of(record));
  const work = workOf(ground, parts);
  const changed = async (nodeId: string): Promise<void> => {
    await parts.enforce(nodeId);
    await broadcast.send(NODE_TOPIC, nodeId);
  };
  const desk = nodeDesk({ fleet, catalogue: gateway.catalogue, work, changed });
  return {
    openai: { door, gateway, base64Compat: config.embeddingsBase64Compat },
    nodes: {
      door,
      log,
      hostTokens: people.hostTokens,
      desk,
      catalogue: gateway.catalogue,
      mint: (id) => plane.mint(id),
      subjects: nodePermissions,
      work,
      receiptOfHost: async (host, id) => signed(await history.findServed(host, id)),
    },
    console: {
      door,
      identities: people.identities,
      balance: (id) => ledger.balance(id),
      receiptOfBuilder: async (builder, id) => signed(await history.find(builder, id)),
      publicUrl,
    },
    receipts: { door, keys: () => receipts.keys() },
    reference: { door, publicUrl },
  };
}

function workOf({ clock, newId }: Ground, { gateway, roster, dispatcher, trust, books, cursors }: Parts): NodeWork {
  const { ledger, earnings } = books;
  return {
    catalogue: gateway.catalogue,
    live: (id) => roster.find(id),
    speedOf: (id, model) => dispatcher.speedOfNode(id, model),
    reliability: (id) => trust.reliability(id),
    earnings,
    async money(id) {
      const [now, paidOut] = await Promise.all([ledger.balance(id), ledger.paidOut(id)]);
      return { pending: now?.balance ?? ZERO, paidOut };
    },
    runPrivately: (job, signal) => runPrivately(gateway, job, signal),
    cursors,
    newId,
    now: () => clock.now(),
  };
}

function priceRows(catalogue: Catalogue): Parameters<typeof recordPrices>[1] {
  return [...catalogue.active.values()].map((model) => ({
    version: model.priceVersion,
    model: model.id,
    in: model.prices.in,
    out: model.prices.out,
  }));
}

async function isBarred(fleet: Fleet, nodeId: string): Promise<boolean> {
  const id = parseId("node", nodeId);
  const node = id === undefined ? undefined : await fleet.find(null, id);
  return node?.standing === "quarantined" || node?.standing === "retired";
}

/** What the records allow a node that asks for work: nothing unless its host elected models and it is in good standing. */
async function licence(fleet: Fleet, nodeId: string): ReturnType<ConstructorParameters<typeof Roster>[0]["licence"]> {
  const id = parseId("node", nodeId);
  const node = id === undefined ? undefined : await fleet.find(null, id);
  if (node === undefined || node.standing !== "ready" || node.hostSuspended) return undefined;
  return { nodeId: node.id, hostAccountId: node.accountId, models: node.models };
}
