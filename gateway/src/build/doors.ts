/** Every door, with what it needs behind it. */

import { nodePermissions } from "@tollgate/protocol/subjects.ts";
import type pg from "pg";
import { ZERO } from "../base/money.ts";
import { NODE_TOPIC } from "../db/broadcast.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Roster } from "../dispatch/roster.ts";
import type { RequestRecord } from "../history/history.ts";
import type { Receipts } from "../history/receipts.ts";
import { openUsage } from "../history/usage.ts";
import { Live } from "../http/console/live.ts";
import type { ModelCapacity } from "../http/console/operator/options.ts";
import type { ConsoleOptions } from "../http/console/routes.ts";
import type { Cursors } from "../http/lists/cursors.ts";
import { type NodeDesk, nodeDesk } from "../http/nodes/desk.ts";
import type { NodeWork } from "../http/nodes/work.ts";
import type { Doors } from "../http/server.ts";
import type { Gateway } from "../inference/gateway.ts";
import { runPrivately } from "../inference/private-job.ts";
import { checkBooks } from "../ledger/check.ts";
import { openStatement } from "../ledger/statement.ts";
import { openAudit } from "../operators/audit.ts";
import { openDirectory } from "../operators/directory.ts";
import { openOverview } from "../operators/overview.ts";
import { openPayouts } from "../operators/payouts.ts";
import type { Payments } from "../payments/payments.ts";
import type { Trust } from "../trust/trust.ts";
import type { openBooks } from "./books.ts";
import type { Enforce, Floor } from "./fleet.ts";
import type { Ground } from "./ground.ts";
import type { People } from "./people.ts";

export interface Parts extends Floor {
  pool: pg.Pool;
  gateway: Gateway;
  roster: Roster;
  dispatcher: Dispatcher;
  enforce: Enforce;
  trust: Trust;
  people: People;
  books: Awaited<ReturnType<typeof openBooks>>;
  payments: Payments | undefined;
  cursors: Cursors;
}

export function doorsOf(ground: Ground, parts: Parts): Doors {
  const { config, clock, newId, log } = ground;
  const { gateway, plane, fleet, broadcast, people, books } = parts;
  const { publicUrl } = config;
  const { history, receipts } = books;
  const door = { clock, newId, log };
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
      mint: config.plane.absent ? undefined : (id) => plane.mint(id),
      subjects: nodePermissions,
      work,
      receiptOfHost: async (host, id) => signed(receipts, await history.findServed(host, id)),
    },
    console: consoleOf(ground, parts, { desk, work }),
    receipts: { door, keys: () => receipts.keys() },
    reference: { door, publicUrl },
    webhooks: { door, payments: parts.payments },
  };
}

function consoleOf(
  { config, clock, newId, log, onClose }: Ground,
  parts: Parts,
  { desk, work }: { desk: NodeDesk; work: NodeWork },
): ConsoleOptions {
  const { gateway, pool, people, books, fleet, roster, dispatcher, payments, cursors } = parts;
  const { ledger, history, receipts } = books;
  const { identities, apiKeys, hostTokens } = people;
  const { publicUrl, trustedProxies } = config;
  const { catalogue } = gateway;
  const now = (): number => clock.now();
  const overview = openOverview({ pool });
  const capacity = (): ModelCapacity[] =>
    [...catalogue().active.keys()].map((model) => ({ model, ...roster.capacity(model) }));
  const live = new Live({ clock, log });
  onClose(() => live.close());
  return {
    door: { clock, newId, log },
    identities,
    publicUrl,
    trustedProxies,
    payments,
    builder: {
      apiKeys,
      usage: openUsage({ pool }),
      history,
      catalogue,
      cursors,
      receiptOfBuilder: async (builder, id) => signed(receipts, await history.find(builder, id)),
      balance: (id) => ledger.balance(id),
      statement: openStatement({ pool }),
      now,
    },
    models: {
      catalogue,
      speedOf: (model) => dispatcher.speedOf(model),
      capacityOf: (model) => roster.capacity(model),
    },
    host: { hostTokens, desk, work },
    earnings: {
      work,
      receiptOfHost: async (host, id) => signed(receipts, await history.findServed(host, id)),
    },
    operator: {
      audit: openAudit({ pool, newId }),
      directory: openDirectory({ pool }),
      overview,
      payouts: openPayouts({ pool, newId }),
      ledger,
      fleet,
      desk,
      apiKeys,
      checkBooks: () => checkBooks(pool),
      capacity,
      cursors,
      newId,
      now,
    },
    live: { live, ledger, history, overview, capacity },
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

const signed = (receipts: Receipts, record: RequestRecord | undefined) =>
  record === undefined ? undefined : receipts.of(record);
