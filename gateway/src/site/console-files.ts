/**
 * Serves the built console under /console. Files with a hash in their name are cached for a year. The HTML page is
 * revalidated each time, so that an old script never calls a newer API. Every path without a file returns that page.
 */
import { readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { notFound } from "../faults.ts";

const BUILD_COMMAND = "node tools/build-console.mjs";
const DIST = fileURLToPath(new URL("../../../console/dist", import.meta.url));

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};
/** The supported encodings, most preferred first. Each compressed file is beside its original. */
const ENCODINGS = [
  { name: "br", suffix: ".br" },
  { name: "gzip", suffix: ".gz" },
];

/**
 * The content security policy allows scripts and styles from files of this build only: nothing inline, no other origin.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");
const SAFETY = {
  "x-content-type-options": "nosniff",
  "content-security-policy": POLICY,
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

interface BuiltFile {
  type: string;
  hashed: boolean;
  plain: Buffer;
  encoded: Map<string, Buffer>;
}

interface BuiltConsole {
  /** The built files by their path below /console, without a leading slash. */
  files: Map<string, BuiltFile>;
  page: BuiltFile;
}

/** Reads the built console; undefined if it is not built. */
function readBuild(dist = DIST): BuiltConsole | undefined {
  const names = filesBelow(dist);
  const files = new Map(
    names.flatMap((name) => {
      const type = TYPES[extname(name)];
      if (type === undefined || name.startsWith(".")) return [];
      const at = (suffix: string): Buffer => readFileSync(join(dist, `${name}${suffix}`));
      const encoded = ENCODINGS.filter(({ suffix }) => names.includes(`${name}${suffix}`));
      const file: BuiltFile = {
        type,
        hashed: name.startsWith("assets/"),
        plain: at(""),
        encoded: new Map(encoded.map((encoding) => [encoding.name, at(encoding.suffix)])),
      };
      return [[name, file] as const];
    }),
  );
  const page = files.get("index.html");
  return page === undefined ? undefined : { files, page };
}

export function addConsoleFileRoutes(app: FastifyInstance, dist = DIST): void {
  let built = readBuild(dist);
  for (const url of ["/console", "/console/", "/console/*"]) {
    app.get<{ Params: { "*"?: string } }>(url, async (request, reply) => {
      // A build that was made after the gateway's start is found too.
      built ??= readBuild(dist);
      if (built === undefined) return sayThereIsNone(reply);
      return send(request, reply, fileFor(built, request.params["*"] ?? ""));
    });
  }
}

function fileFor({ files, page }: BuiltConsole, path: string): BuiltFile {
  const file = files.get(path);
  if (file !== undefined) return file;
  // Pages of the console have no extension. A missing file must get a 404, and not the HTML page.
  if (path.startsWith("assets/") || extname(path) !== "")
    throw notFound(`The console has no file ${path.slice(0, 100)}.`);
  return page;
}

function send({ headers }: FastifyRequest, reply: FastifyReply, file: BuiltFile): FastifyReply {
  const { type, hashed, plain, encoded } = file;
  const accepted = acceptedEncodings(headers["accept-encoding"]);
  const encoding = ENCODINGS.find(({ name }) => encoded.has(name) && accepted.has(name))?.name;
  const body = encoding === undefined ? plain : (encoded.get(encoding) ?? plain);
  return reply
    .headers({
      ...SAFETY,
      "content-type": type,
      "cache-control": hashed ? "public, max-age=31536000, immutable" : "no-cache",
      vary: "accept-encoding",
      ...(encoding !== undefined && { "content-encoding": encoding }),
    })
    .send(body);
}

/** The encodings that a client accepts: `gzip, br;q=0.8, deflate;q=0` → gzip, br. */
function acceptedEncodings(header: string | string[] | undefined): Set<string> {
  const parts = String(header ?? "").split(",");
  return new Set(
    parts.filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part)).map((part) => part.split(";")[0]?.trim() ?? ""),
  );
}

function sayThereIsNone(reply: FastifyReply): FastifyReply {
  const text = `The console is not built yet. Build it with:\n\n  ${BUILD_COMMAND}\n\nthen load this page again. The API works without it.\n`;
  return reply.code(503).headers(SAFETY).type("text/plain; charset=utf-8").send(text);
}

/** All files in a folder, as paths with slashes on any system. A missing folder has no files. */
function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
