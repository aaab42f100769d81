/** The reference: a document of each API for programs, a page of each for people. Each is made once, when somebody first asks for it: a gateway that starts has better things to do. */
import { readFileSync } from "node:fs";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { wrongMethod } from "../../faults.ts";
import { etagOf, sendCached } from "../cached.ts";
import { type DoorOptions, type OpenCall, through } from "../door.ts";
import { DOCUMENTS } from "./documents.ts";
import { textOf } from "./openapi.ts";
import { referencePage, STYLE_URL } from "./page.ts";

export interface ReferenceOptions {
  door: DoorOptions;
  /** How clients reach the gateway, where that is known; else the examples name the address of `npm start`. */
  publicUrl?: string | undefined;
}

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

interface File {
  urls: string[];
  type: string;
  body: () => string;
}

export function referenceRoutes(app: FastifyInstance, options: ReferenceOptions): void {
  const { door } = options;
  const baseUrl = (options.publicUrl ?? LOCAL_URL).replace(/\/+$/, "");
  const files: File[] = [
    ...DOCUMENTS.flatMap((api): File[] => {
      const document = once(() => api.make());
      return [
        { urls: [api.url], type: "application/json; charset=utf-8", body: () => textOf(document()) },
        {
          urls: [api.pageUrl, `${api.pageUrl}/`],
          type: "text/html; charset=utf-8",
          body: () => referencePage(api, { document: document(), baseUrl, all: DOCUMENTS }),
        },
      ];
    }),
    {
      urls: [STYLE_URL],
      type: "text/css; charset=utf-8",
      body: () => readFileSync(new URL("page/reference.css", import.meta.url), "utf8"),
    },
  ];
  const handler = (handle: (call: OpenCall) => void) => async (request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack();
    const { raw: response } = reply;
    response.setHeader("x-content-type-options", "nosniff");
    await through(door, { request: request.raw, response }, async (call) => handle(call));
  };
  const refuse = handler(() => {
    throw wrongMethod(["GET"]);
  });
  const others = app.supportedMethods.filter((method) => method !== "GET");

  for (const { urls, ...file } of files) {
    const send = sender(file);
    for (const url of urls) {
      app.route({ method: "GET", url, handler: handler(send) });
      app.route({ method: others, url, handler: refuse });
    }
  }
}

function sender({ type, body }: Omit<File, "urls">): (call: OpenCall) => void {
  const made = once(() => {
    const text = body();
    return { text, etag: etagOf(text) };
  });
  const headers = { "content-type": type, "content-security-policy": POLICY, "referrer-policy": "no-referrer" };
  return (call) => sendCached(call, made().text, made().etag, headers);
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
