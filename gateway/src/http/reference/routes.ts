/**
 * The reference: a document of each API for programs, a page of each for people. Each is made once, when somebody first
 * asks for it: a gateway that starts has better things to do.
 */
import { readFileSync } from "node:fs";
import { documentOf } from "@tollgate/api/openapi/document.ts";
import { textOf } from "@tollgate/api/openapi/openapi.ts";
import type { FastifyInstance } from "fastify";
import { etagOf, sendCached } from "../cached.ts";
import type { Parts } from "../parts.ts";
import { DOCUMENTS } from "./documents.ts";
import { referencePage, STYLE_URL } from "./page.ts";

/** The address of `npm start`, where no other is known. */
const LOCAL_URL = "http://localhost:8080";

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  // The page's empty icon, which keeps browsers from asking for /favicon.ico.
  "img-src data:",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const SAFETY = {
  "content-security-policy": POLICY,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

interface File {
  urls: string[];
  type: string;
  body: () => string;
}

export function referenceRoutes(app: FastifyInstance, { publicUrl }: Partial<Pick<Parts, "publicUrl">>): void {
  const baseUrl = (publicUrl ?? LOCAL_URL).replace(/\/+$/, "");
  const files: File[] = [
    ...DOCUMENTS.flatMap((one): File[] => {
      const document = once(() => documentOf(one.api));
      return [
        { urls: [one.url], type: "application/json; charset=utf-8", body: () => textOf(document()) },
        {
          urls: [one.pageUrl, `${one.pageUrl}/`],
          type: "text/html; charset=utf-8",
          body: () => referencePage(one, { document: document(), baseUrl, all: DOCUMENTS }),
        },
      ];
    }),
    {
      urls: [STYLE_URL],
      type: "text/css; charset=utf-8",
      body: () => readFileSync(new URL("page/reference.css", import.meta.url), "utf8"),
    },
  ];
  for (const { urls, type, body } of files) {
    const made = once(() => {
      const text = body();
      return { body: text, etag: etagOf(text), type };
    });
    for (const url of urls) {
      app.get(url, async (request, reply) => sendCached(request, reply.headers(SAFETY), made()));
    }
  }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
