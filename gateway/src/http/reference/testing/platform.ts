/**
 * For tests: the console and node APIs on a real database, with a payment provider, receipts, and nodes that are connected
 * because the test says so. What the dispatch plane would answer is the test's to decide as well.
 */
import Fastify, { type FastifyInstance } from "fastify";
import { systemClock } from "../../../base/clock.ts";
import { publicId, type Uuid } from "../../../base/ids.ts";
import { createLog } from "../../../base/log.ts";
import { pico } from "../../../base/money.ts";
import { systemRandom } from "../../../base/random.ts";
import type { Broadcast } from "../../../db/broadcast.ts";
import type { NodeCredentials } from "../../../dispatch/plane.ts";
import { type Fleet, openFleet } from "../../../fleet/fleet.ts";
import { openEarnings } from "../../../history/earnings.ts";
import { openHistory } from "../../../history/history.ts";
import { openReceipts } from "../../../history/receipts.ts";
import { openRefusals, type Refusals } from "../../../history/refusals.ts";
import type { PrivateResult } from "../../../inference/private-job.ts";
import { quote } from "../../../inference/quote.ts";
import { openApiKeys, openHostTokens, type Secrets } from "../../../keys/keys.ts";
import { openHostMoney } from "../../../ledger/host-money.ts";
import { loadCatalogue } from "../../../metering/catalogue.ts";
import type { Meter } from "../../../metering/meter.ts";
import { openDemoProvider } from "../../../payments/demo-provider/demo-provider.ts";
import { openPayments, type Payments } from "../../../payments/payments.ts";
import { stripeAt } from "../../../payments/testing.ts";
import { Live } from "../../console/live.ts";
import { consoleParts } from "../../console/parts.ts";
import { quoteEndpoint } from "../../console/quotes.ts";
import { consoleRoutes } from "../../console/routes.ts";
import { openTestConsole, type TestConsole, WORDS } from "../../console/testing.ts";
import { openCursors } from "../../lists/cursors.ts";
import { nodeDesk } from "../../nodes/desk.ts";
import { nodeRoutes } from "../../nodes/routes.ts";
import type { NodeWork } from "../../nodes/work.ts";
import { NO_THREADS, testBodies } from "../../testing.ts";

export interface TestPlatform extends TestConsole {
  fleet: Fleet;
  apiKeys: Secrets;
  hostTokens: Secrets;
  refusals: Refusals;
  /** What the world beyond the database does. */
  world: World;
  /** The console where nothing can be bought. */
  withoutSales: FastifyInstance;
}

export interface World {
  /** The connected nodes, by public id. */
  connected: Set<string>;
  /** What a node answers to a test of its host. */
  tried: PrivateResult | undefined;
  mint: ((nodeId: string) => Promise<NodeCredentials>) | undefined;
  payments: Payments["checkout"] | undefined;
  /** How prompts are counted in place of their words. */
  counting: Partial<Pick<Meter, "countPrompt">>;
}

const SILENCE: Broadcast = { send: async () => {}, on: () => {}, close: async () => {} };
const CATALOGUE = new URL("../../../../catalogue/models.json", import.meta.url);

export async function openPlatform(): Promise<TestPlatform> {
  const testConsole = await openTestConsole();
  const { pool, newId, ledger, identities, secret } = testConsole;
  const [log, clock, random] = [createLog("silent"), systemClock, systemRandom()];
  const door = { clock, newId, log, bodies: testBodies() };
  const now = (): number => clock.now();
  const keyOptions = { pool, pepper: secret, clock, random, newId, log, broadcast: SILENCE };
  const [apiKeys, hostTokens] = [openApiKeys(keyOptions), openHostTokens(keyOptions)];
  const loaded = await loadCatalogue(CATALOGUE);
  const catalogue = () => loaded;
  const [fleet, history, cursors] = [openFleet({ pool, newId }), openHistory({ pool }), openCursors(secret)];
  const receipts = await openReceipts({ pool, seed: Buffer.alloc(32, 1) });
  const demo = await openDemoProvider({ clock, random, log });
  const real = openPayments({ pool, provider: stripeAt(demo), newId, log });
  const world: World = { connected: new Set(), tried: undefined, mint: undefined, payments: undefined, counting: {} };
  const payments: Payments = { ...real, checkout: (request) => (world.payments ?? real.checkout)(request) };

  const work: NodeWork = {
    catalogue,
    live: (id) => (world.connected.has(id) ? { slots: 4, outstanding: 1, draining: false } : undefined),
    speedOf: (id) =>
      world.connected.has(id) ? { ttftMs: 180.25, tokensPerSecond: 41.5 } : { ttftMs: null, tokensPerSecond: null },
    reliability: () => ({ jobs: 3, failures: 1, jobsWindow: 20, failuresMax: 5 }),
    earnings: openEarnings({ pool }),
    money: openHostMoney({ pool, holdDays: 0 }),
    runPrivately: async () => world.tried,
    cursors,
    newId,
    now,
  };
  const desk = nodeDesk({ fleet, catalogue, work, changed: async () => {} });
  const live = new Live({ clock, log });
  const parts = consoleParts({
    pool,
    ledger,
    history,
    quote: (call, payer) =>
      quote(
        { catalogue, meter: () => ({ ...WORDS, ...world.counting }), reader: NO_THREADS },
        { endpoint: quoteEndpoint, call, payer },
      ),
    receiptOf: (record) => receipts.of(record),
    apiKeys,
    hostTokens,
    fleet,
    desk,
    work,
    payoutHoldDays: 0,
    online: {
      nodes: () => world.connected.size,
      speedOf: (model) =>
        model === "tiny-3b" ? { ttftMs: 180.25, tokensPerSecond: 41.52 } : { ttftMs: null, tokensPerSecond: null },
      capacityOf: () => ({ nodes: world.connected.size, slots: 4, busy: 1 }),
    },
    live,
  });
  const consoleOptions = { door, identities, publicUrl: undefined, trustedProxies: 0, ...parts };
  const app = bodiesUnread();
  consoleRoutes(app, { ...consoleOptions, payments });
  const withoutSales = bodiesUnread();
  consoleRoutes(withoutSales, { ...consoleOptions, payments: undefined });
  nodeRoutes(app, {
    door,
    log,
    hostTokens,
    desk,
    catalogue,
    get mint() {
      return world.mint;
    },
    subjects: (id) => ({ publish: [`from.${id}.>`], subscribe: [`to.${id}.>`] }),
    work,
    receiptOfHost: parts.earnings.receiptOfHost,
  });
  return {
    ...testConsole,
    app,
    withoutSales,
    fleet,
    apiKeys,
    hostTokens,
    refusals: openRefusals({ pool, clock }),
    world,
    async close() {
      live.close();
      await Promise.all([app.close(), withoutSales.close(), apiKeys.close(), hostTokens.close(), demo.close()]);
      await testConsole.close();
    },
  };
}

/** As the gateway's own server: the doors read bodies. */
function bodiesUnread(): FastifyInstance {
  const app = Fastify({ logger: false, exposeHeadRoutes: false });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  return app;
}

/** A request of this builder that this host's node served and was paid for. */
export async function serveRequest(
  { ledger, newId }: TestPlatform,
  parties: { builder: Uuid; keyId: Uuid; host: Uuid; nodeId: Uuid },
): Promise<string> {
  const { builder: accountId, keyId, host, nodeId } = parties;
  const id = newId();
  const amount = pico(4_900_000n);
  const what = { endpoint: "chat", model: "tiny-3b", stream: true } as const;
  const order = { id, accountId, amount, keyId, keyName: "a key", ...what };
  const counted = { build: "tiny-3b-q4-1", tokenizer: "llama3", promptTokens: 14, priceVersion: 1, client: "test" };
  const held = await ledger.hold({ ...order, ...counted });
  if (held.kind !== "held") throw new Error(`the hold was ${held.kind}`);
  await ledger.settle({
    id,
    accountId,
    nodeId,
    paidHostId: host,
    charge: pico(1_050_000n),
    outcome: "ok",
    httpStatus: 200,
    finishReason: "stop",
    completionTokens: 9,
    reasoningTokens: 2,
    attempts: 1,
    queueMs: 2,
    ttftMs: 180,
    durationMs: 1240,
  });
  return publicId("req", id);
}
