/**
 * The reference: a document of each API for programs, a page of each for people. Each is made once, when somebody first
 * asks for it: a gateway that starts has better things to do. The guide and the bare address are answered here too.
 */
import { readFileSync } from "node:fs";
import { documentOf } from "@tollgate/api/openapi/document.ts";
import { textOf } from "@tollgate/api/openapi/openapi.ts";
import type { FastifyInstance } from "fastify";
import { etagOf, sendCached } from "../../http/cached.ts";
import type { SiteParts } from "../../routes/parts.ts";
import { addressOf } from "./address.ts";
import { DOCUMENTS } from "./documents.ts";
import { GUIDE_STYLE_URL, MARK_URL, SAFETY, SCRIPT_URL, STYLE_URL } from "./frame.ts";
import { guideRoutes } from "./guide.ts";
import { homePage, placesOf, wantsHtml } from "./home.ts";
import { html } from "./html.ts";
import { referencePage } from "./page.ts";

interface File {
  urls: string[];
  type: string;
  body: () => string;
}

/** Stands for the gateway's address in a page that is made once. It is no text that a page has. */
const ADDRESS = "https://address.invalid";

export function referenceRoutes(
  app: FastifyInstance,
  { publicUrl, door, status }: Partial<Pick<SiteParts, "publicUrl" | "door" | "status">>,
): void {
  const hasStatus = status?.isPublic ?? true;
  const known = { publicUrl, trustedProxies: door?.trustedProxies };
  // What was made of a caller's own headers is kept for that caller alone.
  const keep = publicUrl === undefined ? "private" : "public";
  for (const { urls, type, body } of files()) {
    const made = once(() => {
      const text = body();
      return { text, etag: etagOf(text) };
    });
    for (const url of urls)
      app.get(url, async (request, reply) => {
        const { text, etag } = made();
        return sendCached(request, reply.headers(SAFETY), { body: text, etag, type });
      });
  }
  for (const one of DOCUMENTS) {
    const made = once(() => referencePage(one, { document: documentOf(one.api), baseUrl: ADDRESS, hasStatus }));
    const tag = once(() => etagOf(made()));
    for (const url of [one.pageUrl, `${one.pageUrl}/`])
      app.get(url, async (request, reply) => {
        const address = addressOf(request.raw, known);
        const etag = etagOf(`${tag()} ${address}`);
        return sendCached(request, reply.headers(SAFETY), {
          body: () => made().replaceAll(ADDRESS, html`${address}`.text),
          etag,
          type: HTML,
          keep,
        });
      });
  }
  guideRoutes(app, { hasStatus });
  app.route({
    method: ["GET", "HEAD"],
    url: "/",
    handler: async (request, reply) => {
      const places = placesOf(addressOf(request.raw, known), hasStatus);
      const shown = wantsHtml(request.headers.accept)
        ? { body: homePage(places), type: HTML }
        : { body: `${JSON.stringify(places)}\n` };
      return sendCached(request, reply.headers({ ...SAFETY, vary: "accept" }), { ...shown, keep });
    },
  });
}

const HTML = "text/html; charset=utf-8";

/** What is the same for everybody. */
function files(): File[] {
  const file = (name: string): string => readFileSync(new URL(`page/${name}`, import.meta.url), "utf8");
  return [
    ...DOCUMENTS.map(({ url, api }) => ({
      urls: [url],
      type: "application/json; charset=utf-8",
      body: () => textOf(documentOf(api)),
    })),
    { urls: [STYLE_URL], type: "text/css; charset=utf-8", body: () => file("reference.css") },
    { urls: [GUIDE_STYLE_URL], type: "text/css; charset=utf-8", body: () => file("guide.css") },
    { urls: [SCRIPT_URL], type: "text/javascript; charset=utf-8", body: () => file("reference.js") },
    { urls: [MARK_URL], type: "image/svg+xml", body: () => file("mark.svg") },
  ];
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
