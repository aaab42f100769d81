/**
 * Puts the gateway together from its configuration: the only place that knows which adapter stands behind a port. What
 * was started is stopped in reverse order, also when a later step fails, so nothing is left half-started.
 */
import { type LiveCertificate, openCertificate } from "./base/certificate.ts";
import { sleep, systemClock } from "./base/clock.ts";
import { type NewId, newIds, parseId, suffixOf } from "./base/ids.ts";
import { watchLoopDelay } from "./base/loop-delay.ts";
import { systemRandom } from "./base/random.ts";
import { sparingLog } from "./base/sparing-log.ts";
import { tidyUp } from "./base/tidy.ts";
import { VERSION } from "./base/version.ts";
import { type AccountParts, openAccountParts } from "./build/accounts.ts";
import { openCatalogue, openMeters } from "./build/catalogue.ts";
import { type BuildOptions, type Context, derived, type Stop } from "./build/context.ts";
import { openDispatch, openTrust } from "./build/fleet.ts";
import { openAlerting, openClosing, openLimits, openMoney, openPurchases, openRetaining } from "./build/money.ts";
import { openDeployment, openPlane } from "./build/plane.ts";
import { openStore } from "./build/store.ts";
import { openTracing } from "./build/tracing.ts";
import { ACCOUNT_TOPIC, NODE_TOPIC, openBroadcast, TEAM_TOPIC } from "./db/broadcast.ts";
import { type Fleet, openFleet } from "./fleet/fleet.ts";
import { openAvailability } from "./history/availability.ts";
import type { History } from "./history/history.ts";
import { openInsights } from "./history/insight.ts";
import { openJobs } from "./history/jobs.ts";
import { openMarket } from "./history/market.ts";
import { openPresence, type SeenNode } from "./history/presence.ts";
import { keepSampling } from "./history/sampling.ts";
import { keepSamplingNodes } from "./history/sampling-nodes.ts";
import { openUsage } from "./history/usage.ts";
import { openBodyBudget } from "./http/body-budget.ts";
import { Live } from "./http/console/live.ts";
import { warmConsole } from "./http/console/warm.ts";
import { healthOf } from "./http/health.ts";
import { openCursors } from "./http/lists/cursors.ts";
import { openMetrics } from "./http/metrics/metrics.ts";
import type { ConnectedNodes, Parts } from "./http/parts.ts";
import { openReading } from "./http/reading.ts";
import { internalServer, publicServer } from "./http/server.ts";
import type { Gateway } from "./inference/gateway.ts";
import { runPrivately } from "./inference/private-job.ts";
import { openTelling } from "./inference/story.ts";
import { UnderWay } from "./inference/under-way.ts";
import { openHostMoney } from "./ledger/host-money.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { openStatement } from "./ledger/statement.ts";
import { CATALOGUE_FILE, loadCatalogue } from "./metering/catalogue.ts";
import { openAttention } from "./operators/attention.ts";
import { openAudit } from "./operators/audit.ts";
import { keepProving, openBooks, watchVerdict } from "./operators/books.ts";
import { openDirectory } from "./operators/directory.ts";
import { openOverview, withOnline } from "./operators/overview.ts";
import { openPayouts } from "./operators/payouts.ts";
import { openSpend } from "./operators/spend.ts";
import { openSubjects } from "./operators/subjects.ts";
import { serverSecrets } from "./server-secrets.ts";
import { loadSecretCanaries } from "./trust/canaries.ts";

/** Nodes of a shared plane are asked for their state when a gateway starts, and have so long to tell it. */
const NODES_REPORT_MS = 1_000;

export interface App extends AccountParts {
  ledger: Ledger;
  fleet: Fleet;
  history: History;
  newId: NewId;
  publicServer: ReturnType<typeof publicServer>;
  internalServer: ReturnType<typeof internalServer>;
  /** `/readyz` says from now on that the gateway is about to stop. It serves as before, but begins no jobs of its own. */
  notReady: () => void;
  /** Takes no more connections and ends those that there are, quiet ones after `quietMs`. Resolves when none is left. */
  leave: (quietMs: number) => Promise<void>;
  /** What is being answered. */
  underWay: UnderWay;
  /** Resolves once that node (`node_…`) takes requests. */
  nodeOnline: (nodeId: string) => Promise<void>;
  /** Which deployment its database is. */
  deployment: string;
  /** Null when the store is not the private one. */
  postgresPid: number | null;
  /**
   * Does beforehand what the first who come to the console would wait for, and gives back what the start took. To be called when the
   * gateway serves; never rejects.
   */
  warm(): Promise<void>;
  close(): Promise<void>;
}

export async function build(options: BuildOptions): Promise<App> {
  const stack: (() => Promise<void> | void)[] = [];
  const close = async (): Promise<void> => {
    for (let stop = stack.pop(); stop !== undefined; stop = stack.pop()) await stop();
  };
  const { clock = systemClock, random = systemRandom() } = options;
  const newId = newIds(clock, random);
  const gatewayId = suffixOf(newId());
  const context = {
    ...options,
    // Lines of several gateways end up in one place.
    log: options.log.child({ instance: gatewayId, version: VERSION }),
    clock,
    random,
    newId,
    gatewayId,
    version: VERSION,
    onClose: (stop: Stop) => stack.push(stop),
  };
  try {
    return await assemble(context, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function assemble(context: Context, close: () => Promise<void>): Promise<App> {
  const { config, log, clock, newId, onClose } = context;
  // Read once before anything is started, so that a mistake in them leaves nothing to clean up.
  const listed = await loadCatalogue(config.catalogueFile ?? CATALOGUE_FILE);
  const secretCanaries = await loadSecretCanaries(config.canariesFile, listed);
  const tracing = await openTracing(context);
  const certificate = await openPublicCertificate(context);
  const store = await openStore(context);
  const { pool } = store;
  const secrets = await serverSecrets(config);
  const broadcast = await openBroadcast({ ...store, clock, log });
  onClose(() => broadcast.close());
  const { meter, tables } = await openMeters(context);
  const reading = openReading({ log, tables, base64Compat: config.embeddingsBase64Compat });
  onClose(() => reading.close());
  const catalogue = await openCatalogue(context, { pool, broadcast, meter });
  const plane = await openPlane(context, secrets);
  const joining = openDeployment(context, { pool, plane });
  // Awaited below; should another step fail before, its own error is the one to tell.
  joining.catch(() => undefined);
  const accounts = await openAccountParts(context, { pool, broadcast, schema: store.schema }, secrets);
  const money = await openMoney(context, store, secrets);
  const fleet = openFleet({ pool, newId, rules: config.nodeRules });
  const { roster, dispatcher, peers, enforce } = openDispatch(context, { plane, fleet, broadcast });
  const nodesReported = config.plane.nats === undefined ? undefined : sleep(clock, NODES_REPORT_MS);
  const books = openBooks({ pool, clock, newId });
  const verdict = watchVerdict(books, { clock, log });
  onClose(() => verdict.stop());
  if (config.provesBooks) onClose(keepProving(books, { pool, clock, log }));
  // Before those who wait for it.
  onClose(() => books.close());
  openClosing(context, store);
  const retaining = await openRetaining(context, store);
  const loopDelay = watchLoopDelay({ clock });
  onClose(() => loopDelay.stop());
  const metrics = openMetrics({
    about: { gateway: context.gatewayId, version: VERSION },
    isReady: () => health.ready().status === "ready",
    nodes: () => roster.nodes().length,
    holds: () => money.leases.alive,
    models: () => catalogue.current().active.keys(),
    capacityOf: (model) => roster.capacity(model),
    waitingFor: (model) => dispatcher.waiting(model),
    dependencies: () => [store.guard.health, limits.health, plane.health],
    pool: () => ({
      max: config.databasePoolMax,
      total: pool.totalCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    clockOffsetMs: () => store.guard.clocks.offsetMs,
    ledger: () => money.ledger,
    settlementsWaiting: () => money.ledger.unsettled().length,
    months: retaining.months,
    rollupBacklog: money.rollups.backlog,
    verdict: verdict.current,
    now: () => clock.now(),
    loopDelays: () => loopDelay.read(),
  });
  const limits = await openLimits(context, {
    gateways: () => peers.gateways(),
    unavailable: metrics.limitsUnavailable,
  });
  const gateway: Gateway = {
    clock,
    log,
    keys: accounts.apiKeys,
    catalogue: catalogue.current,
    meter,
    reader: reading,
    limits,
    dispatcher,
    underWay: new UnderWay(),
    watch: metrics.watch,
    telling: openTelling({ log, clock, tracing }),
    ...money,
  };
  // From here on nodes are told things: not before it is sure that the plane is this database's own.
  const deployment = await joining;
  const trust = await openTrust(context, { gateway, plane, fleet, roster, peers, broadcast, enforce, secretCanaries });
  const live = new Live({ clock, log });
  onClose(() => live.close());
  for (const topic of [ACCOUNT_TOPIC, TEAM_TOPIC]) broadcast.on(topic, (accountId) => live.review(accountId));
  const nodes: ConnectedNodes = {
    count: () => roster.nodes().length,
    all: () => roster.nodes().flatMap(seenNode),
    find: (id) => roster.find(id),
    speedOf: (model) => dispatcher.speedOf(model),
    capacityOf: (model) => roster.capacity(model),
    waitingFor: (model) => dispatcher.waiting(model),
    keepsFormat: (model) => dispatcher.keepsFormat(model),
    speedOfNode: (id, model) => dispatcher.speedOfNode(id, model),
    reliabilityOf: (id) => trust.reliability(id),
  };
  const everyMs = config.status.sampleEveryMs;
  const availability = openAvailability({ pool, everyMs });
  const lookAtModels = () =>
    [...catalogue.current().active.keys()].map((model) => ({ model, ...roster.capacity(model) }));
  onClose(keepSampling({ availability, everyMs, look: lookAtModels, clock, log }));
  const presence = openPresence({ pool, everyMs });
  if (!config.plane.absent) {
    const look = () => (plane.health.isAway ? undefined : nodes.all());
    onClose(keepSamplingNodes({ presence, everyMs, look, clock, log }));
  }
  const records = openOverview({ pool });
  const parts: Parts = {
    door: {
      clock,
      newId,
      log,
      troubles: sparingLog(log, clock),
      bodies: { budget: openBodyBudget(config.bodyBudget), parseForm: reading.parseForm },
      cors: config.corsOrigins,
      trustedProxies: config.trustedProxies,
      watch: metrics.http,
      publicUrl: config.publicUrl,
    },
    pool,
    log,
    newId,
    now: () => clock.now(),
    cursors: openCursors(derived(secrets, "cursors")),
    publicUrl: config.publicUrl,
    certificate,
    ...accounts,
    ...money,
    statement: openStatement({ pool }),
    hostMoney: openHostMoney({ pool, holdDays: config.payoutHoldDays }),
    usage: openUsage({ pool }),
    alerts: openAlerting(context, store, accounts.outbox),
    sendsMail: accounts.outbox.sends,
    insights: openInsights({ pool, ...money, presence }),
    jobs: openJobs({ pool }),
    market: openMarket({ pool, ...money, now: () => clock.now() }),
    payments: await openPurchases(context, store, accounts.outbox),
    gateway,
    base64Compat: config.embeddingsBase64Compat,
    catalogue: catalogue.current,
    fleet,
    async nodeChanged(nodeId) {
      await enforce(nodeId);
      await broadcast.send(NODE_TOPIC, nodeId);
    },
    nodes,
    async runPrivately(job, signal) {
      const stay = gateway.underWay.enter(signal);
      return await runPrivately(gateway, job, stay.signal).finally(() => stay.leave());
    },
    mint: config.plane.absent ? undefined : (id) => plane.mint(id),
    presence,
    audit: openAudit({ pool, newId }),
    books,
    spend: openSpend({ pool }),
    attention: openAttention({ pool, rules: fleet.rules, version: VERSION }),
    subjects: openSubjects({ pool }),
    directory: openDirectory({ pool, rules: fleet.rules }),
    overview: { ...records, totals: async () => withOnline(await records.totals(), nodes.count()) },
    payouts: openPayouts({ pool, newId, holdDays: config.payoutHoldDays }),
    live,
    availability,
    status: config.status,
  };
  const health = healthOf({
    metrics,
    dependencies: [
      { of: store.guard.health, isNeeded: true },
      { of: limits.health, isNeeded: config.limitsWhenAway === "refuse" },
      { of: plane.health, isNeeded: !config.plane.absent },
    ],
  });
  // A gateway that took requests before would refuse what nodes that it has not heard of yet could serve.
  await nodesReported;
  const open = publicServer(parts);
  let isOver = false;
  onClose(() => {
    isOver = true;
  });
  return {
    ...accounts,
    ledger: money.ledger,
    fleet,
    history: money.history,
    newId,
    publicServer: open,
    internalServer: internalServer(health),
    notReady() {
      health.drain();
      trust.stop().catch((error) => log.error({ err: error }, "probes could not be stopped"));
    },
    leave(quietMs) {
      // An open page would hold its connection for minutes, and finds another gateway.
      live.close();
      return open.connections.leave(quietMs);
    },
    underWay: gateway.underWay,
    nodeOnline: (id) => roster.online(id),
    deployment,
    postgresPid: store.pid,
    async warm() {
      await warmConsole(parts, { connections: store.kept, isOver: () => isOver }).catch((error) =>
        log.debug({ err: error }, "the console's questions could not be asked beforehand"),
      );
      // Who is being answered is not kept waiting for it.
      if (!isOver && gateway.underWay.count === 0) tidyUp();
    },
    close,
  };
}

/** As samples have it; the roster knows nodes by their public ids. */
function seenNode({ id: text, slots, outstanding }: { id: string; slots: number; outstanding: number }): SeenNode[] {
  const id = parseId("node", text);
  return id === undefined ? [] : [{ id, slots, busy: Math.min(slots, outstanding) }];
}

/** Undefined where the public listener speaks plain HTTP. */
async function openPublicCertificate({ config, clock, log, onClose }: Context): Promise<LiveCertificate | undefined> {
  if (config.tls === undefined) return undefined;
  const settings = { cert: "TLS_CERT", key: "TLS_KEY" };
  const certificate = await openCertificate({ files: config.tls, settings, clock, log });
  onClose(certificate.stop);
  return certificate;
}
