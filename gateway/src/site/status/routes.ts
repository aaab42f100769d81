/**
 * GET /status.json, the status page GET /status, and the feed of incidents: the state of the models, public and without
 * a key.
 */
import { readFileSync } from "node:fs";
import { statusRoutes as consoleStatus } from "@tollgate/api/console/status.ts";
import { publicRoutes } from "@tollgate/api/public/routes.ts";
import { splitMethodAndUrl } from "@tollgate/api/route-declaration.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { computeEtag, sendCachedResponse } from "../../http/send-cached-response.ts";
import { SECURITY_HEADERS, STATUS_URL } from "../reference/page-frame.ts";
import { FEED_URL, incidentFeed } from "./incident-feed.ts";
import type { Status } from "./status-document.ts";
import { STYLE_URL, statusPage } from "./status-page.ts";

const KEEP_S = 10;

/** Caches a text built from the status, until the status changes. */
function textOf(make: (status: Status) => string) {
  let made: { of: Status; body: string; etag: string } | undefined;
  return (status: Status) => {
    if (made?.of !== status) {
      const body = make(status);
      made = { of: status, body, etag: computeEtag(body) };
    }
    return { body: made.body, etag: made.etag, keepS: KEEP_S };
  };
}

/**
 * Serves the status. `current` returns the newest status. `publicUrl` is the gateway's URL for browsers, if configured.
 */
export function statusRoutes(app: FastifyInstance, current: () => Promise<Status>, publicUrl?: string): void {
  const [json, page] = [textOf((status) => JSON.stringify(status)), textOf(statusPage)];
  const handler = async (request: FastifyRequest, reply: FastifyReply) =>
    sendCachedResponse(request, reply, json(await current()));
  for (const route of [publicRoutes.readStatus, consoleStatus.getStatus])
    app.route({ ...splitMethodAndUrl(route), handler });
  app.get(FEED_URL, async (request, reply) => {
    const body = incidentFeed(await current(), `${publicUrl ?? `http://${request.host}`}${STATUS_URL}`);
    return sendCachedResponse(request, reply, { body, keepS: KEEP_S, type: "application/atom+xml; charset=utf-8" });
  });
  for (const url of ["/status", "/status/"]) {
    app.get(url, async (request, reply) =>
      sendCachedResponse(request, reply.headers(SECURITY_HEADERS), {
        ...page(await current()),
        type: "text/html; charset=utf-8",
      }),
    );
  }
  app.get(STYLE_URL, async (request, reply) =>
    sendCachedResponse(request, reply.headers(SECURITY_HEADERS), {
      body: readFileSync(new URL("page/status.css", import.meta.url), "utf8"),
      type: "text/css; charset=utf-8",
    }),
  );
}
