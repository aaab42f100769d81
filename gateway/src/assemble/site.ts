/** Opens the parts that HTTP routes use, from every domain. */
import type { AccountServices } from "../accounts/services.ts";
import { parseId } from "../base/ids.ts";
import { watchOpenFiles } from "../base/open-file-limit.ts";
import { rateLimitedLog } from "../base/rate-limited-log.ts";
import type { RotatingSecret } from "../base/rotating-secret.ts";
import { ACCOUNT_TOPIC, NODE_TOPIC, TEAM_TOPIC } from "../db/broadcast.ts";
import type { NodeSample } from "../history/node-presence.ts";
import { openHistoryServices } from "../history/services.ts";
import { openBodyBudget } from "../http/body-budget.ts";
import type { CorsOrigins } from "../http/cors.ts";
import type { HttpOptions } from "../http/http-call.ts";
import { openPageCursors } from "../http/lists/page-cursors.ts";
import type { Metrics } from "../http/metrics/metrics.ts";
import { watchOutages } from "../http/outages.ts";
import type { InferenceServices } from "../inference/services.ts";
import { runUnpaidJob } from "../inference/unpaid-job.ts";
import { openKeyServices } from "../keys/services.ts";
import { openLedgerServices } from "../ledger/services.ts";
import type { NotificationServices } from "../notifications/services.ts";
import { INCIDENTS_MIGRATION } from "../operators/incidents/incident-records.ts";
import { openOperatorServices } from "../operators/services.ts";
import { openCreditAlerts } from "../payments/credit-alerts.ts";
import { openPayments } from "../payments/payments.ts";
import type { PaymentServices } from "../payments/services.ts";
import { LiveFeeds } from "../routes/console/live-feeds.ts";
import type { ConnectedNodes } from "../routes/nodes/services.ts";
import type { RouteServices } from "../routes/services.ts";
import { openCheckReader } from "../trust/spot-checks/check-reader.ts";
import { SPOT_CHECKS_MIGRATION } from "../trust/spot-checks/store.ts";
import type { Trust } from "../trust/trust.ts";
import type { AssemblyContext } from "./assembly-context.ts";
import { type DependencySettings, listDependencies } from "./dependencies.ts";
import type { LedgerAndSpool } from "./ledger-and-spool.ts";
import type { ExternalInterfaces, Listener } from "./port-interfaces.ts";
import { makeKeyOptions, type RequestPipeline } from "./request-pipeline.ts";

export interface SiteSettings {
  /** The version of the gateway's software. */
  version: string;
  publicUrl: string | undefined;
  pepper: RotatingSecret;
  /** The secret that signs the cursors of lists. */
  cursorSecret: RotatingSecret;
  /** The seed of the key that signs usage receipts: 32 bytes in base64url. */
  receiptSeed: string;
  payoutHoldDays: number;
  /** `isPublic`: whether the status page is visible without sign-in. */
  status: { isPublic: boolean; sampleEveryMs: number };
  /** Origins whose web pages may call the public API. */
  corsOrigins: CorsOrigins;
  /** The number of trusted proxies that append to X-Forwarded-For. */
  trustedProxies: number;
  /** The memory limits for large request bodies: in total, and per account. */
  bodyBudget: { gatewayBytesMax: number; payerBytesMax: number };
  /** Whether to send base64 embeddings to client versions that corrupt floats. */
  embeddingsBase64Compat: boolean;
  /** Whether a response or error that its route does not declare becomes an internal error. Only tests set it. */
  checkAnswers?: boolean;
}

interface SiteNeeds {
  listener: Listener;
  metrics: Metrics;
  accounts: AccountServices;
  notifying: NotificationServices;
  serving: RequestPipeline;
  trust: Trust;
}

export async function openSite(
  context: AssemblyContext,
  settings: SiteSettings & DependencySettings,
  ports: ExternalInterfaces,
  { listener, metrics, accounts, notifying, serving, trust }: SiteNeeds,
): Promise<RouteServices> {
  const { clock, newId, log, onClose } = context;
  const { store, models } = ports;
  const { payoutHoldDays, status, publicUrl, version } = settings;
  const { pool, broadcast } = store;
  const { fleet, money, apiKeys } = serving;
  const { ledger, unfunded, refusedCalls, requestAttempts } = money;
  const now = (): number => clock.now();
  const keys = openKeyServices(makeKeyOptions(context, settings.pepper, store), apiKeys);
  onClose(() => keys.hostTokens.close());
  const live = new LiveFeeds({ clock, log });
  onClose(() => live.close());
  for (const topic of [ACCOUNT_TOPIC, TEAM_TOPIC]) broadcast.on(topic, (accountId) => live.review(accountId));
  const nodes = connectedNodes(serving, trust);
  const outages = watchOutages({ clock, dependencies: listDependencies(settings, { ports, serving }) });
  onClose(() => outages.stop());
  return {
    door: openDoor(context, settings, { models, metrics, files: ports.files, journals: money.journals }),
    log,
    newId,
    now,
    cursors: openPageCursors(settings.cursorSecret),
    publicUrl,
    certificate: listener.certificate,
    live,
    outages,
    status,
    identities: accounts.identities,
    ...keys,
    ...openLedgerServices({ pool, schema: store.schema, ledger, payoutHoldDays }),
    ...(await openHistoryServices({
      pool,
      now,
      unfunded,
      refusedCalls,
      requestAttempts,
      schema: store.schema,
      receiptSeed: settings.receiptSeed,
      sampleEveryMs: status.sampleEveryMs,
    })),
    ...notifying,
    ...openPaymentServices(context, ports, notifying),
    ...makeInferenceServices(serving, settings),
    fleet,
    nodes,
    checks: openCheckReader({ pool, isThere: () => store.schema.number >= SPOT_CHECKS_MIGRATION }),
    async nodeChanged(nodeId) {
      await serving.dispatch.enforce(nodeId);
      await broadcast.send(NODE_TOPIC, nodeId);
    },
    mint: ports.plane && ((id) => serving.plane.mint(id)),
    ...openOperatorServices({
      pool,
      clock,
      newId,
      rules: fleet.rules,
      version,
      online: nodes.count,
      payoutHoldDays,
      hasIncidents: () => store.schema.number >= INCIDENTS_MIGRATION,
    }),
  };
}

function openDoor(
  { clock, newId, log, onClose }: AssemblyContext,
  { bodyBudget, corsOrigins: cors, trustedProxies, publicUrl, checkAnswers = false }: SiteSettings,
  {
    models: { parseForm },
    metrics,
    files,
    journals,
  }: Pick<ExternalInterfaces, "models" | "files"> & { metrics: Metrics } & Pick<LedgerAndSpool, "journals">,
): HttpOptions {
  const watch = files && watchOpenFiles({ files, clock, log });
  onClose(() => watch?.stop());
  return {
    files: watch,
    clock,
    newId,
    log,
    troubles: rateLimitedLog(log, clock),
    bodies: { budget: openBodyBudget(bodyBudget), parseForm },
    cors,
    trustedProxies,
    watch: metrics.http,
    publicUrl,
    checkAnswers,
    journaled: journals && (() => journals.changes.written()),
  };
}

function openPaymentServices(
  { clock, newId, log }: AssemblyContext,
  { store: { pool }, payments: provider }: ExternalInterfaces,
  { notifications: { notify } }: NotificationServices,
): PaymentServices {
  return {
    alerts: openCreditAlerts({ pool, notify, newId }),
    payments: provider && openPayments({ pool, notify, provider, clock, newId, log }),
  };
}

function makeInferenceServices(
  { gateway }: RequestPipeline,
  { embeddingsBase64Compat: base64Compat }: SiteSettings,
): InferenceServices {
  return {
    gateway,
    base64Compat,
    catalogue: gateway.catalogue,
    async runPrivately(job, signal) {
      const entry = gateway.inFlight.enter(signal);
      return await runUnpaidJob(gateway, job, entry.signal).finally(() => entry.leave());
    },
  };
}

function connectedNodes({ dispatch: { roster, dispatcher } }: RequestPipeline, trust: Trust): ConnectedNodes {
  return {
    count: () => roster.nodes().length,
    all: () => roster.nodes().flatMap(seenNode),
    find: (id) => roster.find(id),
    speedOf: (model) => dispatcher.speedOf(model),
    capacityOf: (model) => roster.capacity(model),
    waitingFor: (model) => dispatcher.waiting(model),
    keepsFormat: (model) => dispatcher.keepsFormat(model),
    speedOfNode: (id, model) => dispatcher.speedOfNode(id, model),
    reliabilityOf: (id) => trust.reliability(id),
    lengthEvidenceOf: (id) => trust.lengthEvidence(id),
  };
}

/** Converts a node of the roster for samples, which use internal IDs. */
function seenNode({ id: text, slots, outstanding }: { id: string; slots: number; outstanding: number }): NodeSample[] {
  const id = parseId("node", text);
  return id === undefined ? [] : [{ id, slots, busy: Math.min(slots, outstanding) }];
}
