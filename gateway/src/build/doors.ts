/** Every door, with what it needs behind it. */

import { nodePermissions } from "@tollgate/protocol/subjects.ts";
import type pg from "pg";
import { NODE_TOPIC } from "../db/broadcast.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Roster } from "../dispatch/roster.ts";
import type { RequestRecord } from "../history/history.ts";
import type { Receipts } from "../history/receipts.ts";
import { Live } from "../http/console/live.ts";
import { consoleParts } from "../http/console/parts.ts";
import { quoteEndpoint } from "../http/console/quotes.ts";
import type { ConsoleOptions } from "../http/console/routes.ts";
import type { Bodies, OpenCall } from "../http/door.ts";
import type { Cursors } from "../http/lists/cursors.ts";
import { type NodeDesk, nodeDesk } from "../http/nodes/desk.ts";
import type { NodeWork } from "../http/nodes/work.ts";
import type { Doors } from "../http/server.ts";
import type { Gateway } from "../inference/gateway.ts";
import { runPrivately } from "../inference/private-job.ts";
import { quote } from "../inference/quote.ts";
import { openHostMoney } from "../ledger/host-money.ts";
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
  bodies: Bodies;
}

export function doorsOf(ground: Ground, parts: Parts): Doors {
  const { config, clock, newId, log } = ground;
  const { gateway, plane, fleet, broadcast, people, books } = parts;
  const { publicUrl } = config;
  const { history, receipts } = books;
  const door = { clock, newId, log, bodies: parts.bodies };
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
  const { gateway, pool, people, books, fleet, roster, dispatcher, payments } = parts;
  const { ledger, history, receipts } = books;
  const { identities, apiKeys, hostTokens } = people;
  const { publicUrl, trustedProxies } = config;
  const live = new Live({ clock, log });
  onClose(() => live.close());
  const online = {
    nodes: () => roster.nodes().length,
    speedOf: (model: string) => dispatcher.speedOf(model),
    capacityOf: (model: string) => roster.capacity(model),
  };
  const receiptOf = (record: RequestRecord) => receipts.of(record);
  const quoteChat = (call: OpenCall, payer: string) => quote(gateway, { endpoint: quoteEndpoint, call, payer });
  const ground = {
    pool,
    quote: quoteChat,
    ledger,
    history,
    receiptOf,
    apiKeys,
    hostTokens,
    fleet,
    desk,
    work,
    online,
    live,
    payoutHoldDays: config.payoutHoldDays,
  };
  return {
    door: { clock, newId, log, bodies: parts.bodies },
    identities,
    publicUrl,
    trustedProxies,
    payments,
    ...consoleParts(ground),
  };
}

function workOf(
  { clock, newId, config }: Ground,
  { pool, gateway, roster, dispatcher, trust, books, cursors }: Parts,
): NodeWork {
  const { earnings } = books;
  return {
    catalogue: gateway.catalogue,
    live: (id) => roster.find(id),
    speedOf: (id, model) => dispatcher.speedOfNode(id, model),
    reliability: (id) => trust.reliability(id),
    earnings,
    money: openHostMoney({ pool, holdDays: config.payoutHoldDays }),
    runPrivately: (job, signal) => runPrivately(gateway, job, signal),
    cursors,
    newId,
    now: () => clock.now(),
  };
}

const signed = (receipts: Receipts, record: RequestRecord | undefined) =>
  record === undefined ? undefined : receipts.of(record);
