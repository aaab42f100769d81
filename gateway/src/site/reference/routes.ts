/**
 * Routes of the API documents, the docs and their assets, and the root path. Each document is created at its first
 * request, so that the gateway starts fast.
 */
import { readFileSync } from "node:fs";
import { buildDocument } from "@tollgate/api/openapi/document.ts";
import { formatDocument } from "@tollgate/api/openapi/openapi-types.ts";
import type { FastifyInstance } from "fastify";
import { computeEtag, sendCachedResponse } from "../../http/send-cached-response.ts";
import type { SiteServices } from "../../routes/services.ts";
import { DOCUMENTS } from "./api-documents.ts";
import { findBaseUrl } from "./base-url.ts";
import { addDocsRoutes } from "./docs-routes.ts";
import { homePage, serviceUrls, wantsHtml } from "./home-page.ts";
import {
  GUIDE_STYLE_URL,
  LOGO_URL,
  OWN_KEY_SCRIPT_URL,
  SCRIPT_URL,
  SECURITY_HEADERS,
  STYLE_URL,
} from "./page-frame.ts";

interface File {
  url: string;
  type: string;
  body: () => string;
}

export function addReferenceRoutes(
  app: FastifyInstance,
  {
    publicUrl,
    door,
    status,
    folder,
  }: Partial<Pick<SiteServices, "publicUrl" | "door" | "status">> & { folder?: string },
): void {
  const hasStatus = status?.isPublic ?? true;
  const known = { publicUrl, trustedProxies: door?.trustedProxies };
  // Responses that contain the address from the caller's headers may be cached only for that caller.
  const keep = publicUrl === undefined ? "private" : "public";
  for (const { url, type, body } of files()) {
    const made = once(() => {
      const text = body();
      return { text, etag: computeEtag(text) };
    });
    app.get(url, async (request, reply) => {
      const { text, etag } = made();
      return sendCachedResponse(request, reply.headers(SECURITY_HEADERS), { body: text, etag, type });
    });
  }
  addDocsRoutes(app, { ...known, hasStatus, ...(folder !== undefined && { folder }) });
  app.get("/", async (request, reply) => {
    const places = serviceUrls(findBaseUrl(request.raw, known), hasStatus);
    const shown = wantsHtml(request.headers.accept)
      ? { body: homePage(places), type: HTML }
      : { body: `${JSON.stringify(places)}\n` };
    return sendCachedResponse(request, reply.headers({ ...SECURITY_HEADERS, vary: "accept" }), { ...shown, keep });
  });
}

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";

/** Files that are the same for everyone. */
function files(): File[] {
  const file = (name: string): string => readFileSync(new URL(`page/${name}`, import.meta.url), "utf8");
  return [
    ...DOCUMENTS.map(({ url, api }) => ({
      url,
      type: "application/json; charset=utf-8",
      body: () => formatDocument(buildDocument(api)),
    })),
    { url: STYLE_URL, type: "text/css; charset=utf-8", body: () => file("reference.css") },
    { url: GUIDE_STYLE_URL, type: "text/css; charset=utf-8", body: () => file("guide.css") },
    { url: SCRIPT_URL, type: SCRIPT, body: () => file("reference.js") },
    { url: OWN_KEY_SCRIPT_URL, type: SCRIPT, body: () => file("own-key.js") },
    { url: LOGO_URL, type: "image/svg+xml", body: () => file("mark.svg") },
  ];
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
