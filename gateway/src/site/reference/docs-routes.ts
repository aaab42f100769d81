/**
 * Serves the docs under /docs: the API reference and the guide, as built by `npm run docs`. Each file is read at its
 * first request. Without a build, the gateway returns instructions for building.
 */
import { readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { notFound } from "../../faults.ts";
import { computeEtag, sendCachedResponse } from "../../http/send-cached-response.ts";
import { type BaseUrlOptions, findBaseUrl } from "./base-url.ts";
import { wantsHtml } from "./home-page.ts";
import { html } from "./html-template.ts";
import { ADDRESS_PLACEHOLDER, removeStatusLink, SECURITY_HEADERS } from "./page-frame.ts";

const FOLDER = fileURLToPath(new URL("../../../../docs/dist", import.meta.url));
const HTML = "text/html; charset=utf-8";
/** The file types that are served. A build contains other types too, which are not. */
const TYPES: Record<string, string> = {
  ".html": HTML,
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".webp": "image/webp",
  ".svg": "image/svg+xml",
};
/** The page for unknown paths, which has no URL of its own. */
const NOT_FOUND = "not-found.html";

interface DocsFile {
  type: string;
  body: string | Buffer;
  /** The file's compressed version from the build. */
  zipped: Buffer | undefined;
  etag: string;
}

interface DocsOptions extends BaseUrlOptions {
  hasStatus?: boolean;
  folder?: string;
}

export function addDocsRoutes(
  app: FastifyInstance,
  { hasStatus = true, folder = FOLDER, ...known }: DocsOptions,
): void {
  let names: Set<string> | undefined;
  const files = new Map<string, DocsFile>();
  const read = (name: string, all: Set<string>): DocsFile => {
    const bytes = readFileSync(join(folder, name));
    const page = (): string => (hasStatus ? bytes.toString() : removeStatusLink(bytes.toString()));
    const body = extname(name) === ".html" ? page() : bytes;
    const zipped = all.has(`${name}.gz`) ? readFileSync(join(folder, `${name}.gz`)) : undefined;
    return { type: TYPES[extname(name)] ?? "", body, zipped, etag: computeEtag(body) };
  };
  const fileOf = (name: string, all: Set<string>): DocsFile => {
    const file = files.get(name) ?? read(name, all);
    files.set(name, file);
    return file;
  };
  // A page that contains the address from the caller's headers may be cached only for that caller.
  const keep = known.publicUrl === undefined ? "private" : "public";
  const sendPage = (request: FastifyRequest, reply: FastifyReply, { body, etag, type }: DocsFile): FastifyReply => {
    const address = findBaseUrl(request.raw, known);
    const filled = (): string => String(body).replaceAll(ADDRESS_PLACEHOLDER, html`${address}`.text);
    return sendCachedResponse(request, reply, { body: filled, etag: computeEtag(`${etag} ${address}`), type, keep });
  };
  for (const url of ["/docs", "/docs/*"]) {
    app.get<{ Params: { "*"?: string } }>(url, async (request, reply) => {
      // Docs that were built after the gateway's start are found too.
      names ??= namesBelow(folder);
      reply.headers(SECURITY_HEADERS);
      if (names === undefined) return reply.code(503).type("text/plain; charset=utf-8").send(NONE);
      const path = (request.params["*"] ?? "").replace(/\/$/, "");
      const name = nameOf(path, names);
      if (name !== undefined) {
        const file = fileOf(name, names);
        return file.type === HTML ? sendPage(request, reply, file) : sendAsset(request, reply, file);
      }
      if (!wantsHtml(request.headers.accept) || !names.has(NOT_FOUND)) {
        throw notFound(`No such page: /docs/${path.slice(0, 100)}.`);
      }
      const { body } = fileOf(NOT_FOUND, names);
      return reply.code(404).headers({ vary: "accept", "cache-control": "no-cache" }).type(HTML).send(body);
    });
  }
}

const NONE = "The docs are not built yet. Build them with:\n\n  npm run docs\n\nthen load this page again.\n";

/**
 * The file for a URL's path. URLs of pages have no extension: `guide` is the file `guide.html` or `guide/index.html`.
 */
function nameOf(path: string, names: Set<string>): string | undefined {
  const below = path === "" ? "" : `${path}/`;
  return [path, `${path}.html`, `${below}index.html`].find(
    (name) => names.has(name) && Object.hasOwn(TYPES, extname(name)) && name !== NOT_FOUND,
  );
}

function sendAsset(request: FastifyRequest, reply: FastifyReply, { zipped, ...file }: DocsFile): FastifyReply {
  if (zipped === undefined) return sendCachedResponse(request, reply, file);
  reply.header("vary", "accept-encoding");
  const isAccepted = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(String(request.headers["accept-encoding"] ?? ""));
  return sendCachedResponse(
    request,
    isAccepted ? reply.header("content-encoding", "gzip") : reply,
    isAccepted ? { ...file, body: zipped, etag: computeEtag(zipped) } : file,
  );
}

/** All files in a folder, as paths with slashes on any system. Undefined if the folder does not exist. */
function namesBelow(folder: string): Set<string> | undefined {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return new Set(entries.map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/")));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
