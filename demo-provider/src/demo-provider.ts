/**
 * A simulated payment provider on this machine that implements the real one's protocol. The provider's official library
 * opens checkouts, saves cards and charges them. A buyer pays on its page, and it sends signed webhooks until they are
 * acknowledged. For `npm start -- --payments demo` and for tests; a production gateway never loads it. It listens on
 * loopback only, and no money moves.
 */
import type { AddressInfo } from "node:net";
import type { Clock } from "@tollgate/protocol/clock.ts";
import Fastify from "fastify";
import { newId, type Random } from "./object-ids.ts";
import { ProviderApi } from "./payment-provider-api.ts";
import { addDemoRoutes } from "./routes.ts";
import { ProviderSales } from "./sales-and-events.ts";
import { type Log, openStateFile } from "./state-file.ts";
import { WebhookDeliveries } from "./webhook-delivery.ts";

const HOST = "127.0.0.1";
const API_VERSION = "2026-10-28.endive";
const BODY_BYTES_MAX = 64 * 1024;

interface DemoProviderOptions {
  clock: Clock;
  random: Random;
  log: Log;
  /** The file that keeps sales and webhooks between runs. Undefined: they are kept in memory only. */
  file?: string;
}

export interface DemoPaymentProvider {
  /**
   * The provider's address, `http://127.0.0.1:…`. It serves the API, the buyers' pages, and the operator's page at its
   * root.
   */
  url: string;
  secretKey: string;
  webhookSecret: string;
  shop: ProviderSales;
  deliveries: WebhookDeliveries;
  close(): Promise<void>;
}

export async function openDemoPaymentProvider({
  clock,
  random,
  log,
  file,
}: DemoProviderOptions): Promise<DemoPaymentProvider> {
  const secretKey = newId(random, "sk_test");
  const webhookSecret = newId(random, "whsec", 32);
  const stateFile = await openStateFile(file, log);
  const deliveries = new WebhookDeliveries({
    clock,
    secret: webhookSecret,
    earlier: stateFile.deliveries,
    changed: () => stateFile.save(),
  });
  const shop = new ProviderSales({
    clock,
    random,
    sales: stateFile.sales,
    cards: stateFile.cards,
    emit(type, object) {
      deliveries.add({
        id: newId(random, "evt"),
        object: "event",
        api_version: API_VERSION,
        created: Math.floor(clock.now() / 1000),
        data: { object },
        livemode: false,
        pending_webhooks: 1,
        request: { id: null, idempotency_key: null },
        type,
      });
    },
  });
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    bodyLimit: BODY_BYTES_MAX,
  });
  let url = "";
  const api = new ProviderApi({ shop, secretKey, address: () => url });
  addDemoRoutes(app, { api, shop, deliveries, changed: () => stateFile.save() });
  await app.listen({ host: HOST, port: 0 });
  url = `http://${HOST}:${(app.server.address() as AddressInfo).port}`;
  return {
    url,
    secretKey,
    webhookSecret,
    shop,
    deliveries,
    async close() {
      await app.close();
      await deliveries.close();
      await stateFile.saved();
    },
  };
}
