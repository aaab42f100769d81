/**
 * The guide under /docs/guide: pages and pictures that `npm run docs` made out of docs/. Each file is read when somebody first asks
 * for it. Where none were made, that is said, and the gateway does without.
 */
import { readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";
import { notFound } from "../../faults.ts";
import { etagOf, sendCached } from "../../http/cached.ts";
import { GUIDE_URL, SAFETY, withoutStatus } from "./frame.ts";

const FOLDER = fileURLToPath(new URL("../../../../docs/dist", import.meta.url));
/** What is served; a build leaves other files too. */
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".webp": "image/webp",
  ".svg": "image/svg+xml",
};

interface GuideFile {
  type: string;
  body: string | Buffer;
  etag: string;
}

export function guideRoutes(app: FastifyInstance, { hasStatus = true, folder = FOLDER }): void {
  let names: Set<string> | undefined;
  const read = new Map<string, GuideFile>();
  const fileOf = (name: string): GuideFile => {
    const known = read.get(name);
    if (known !== undefined) return known;
    const type = TYPES[extname(name)] ?? "";
    const bytes = readFileSync(join(folder, name));
    const page = (): string => (hasStatus ? bytes.toString() : withoutStatus(bytes.toString()));
    const body = extname(name) === ".html" ? page() : bytes;
    const file = { type, body, etag: etagOf(body) };
    read.set(name, file);
    return file;
  };
  for (const url of [GUIDE_URL, `${GUIDE_URL}/*`]) {
    app.get<{ Params: { "*"?: string } }>(url, async (request, reply) => {
      // A guide that was built after the start is found too.
      names ??= namesBelow(folder);
      if (names === undefined) return reply.code(503).headers(SAFETY).type("text/plain; charset=utf-8").send(NONE);
      const path = (request.params["*"] ?? "").replace(/\/$/, "");
      const name = [path, `${path === "" ? "index" : path}.html`].find((one) => names?.has(one));
      if (name === undefined) throw notFound(`The guide has no page ${path.slice(0, 100)}.`);
      return sendCached(request, reply.headers(SAFETY), fileOf(name));
    });
  }
}

const NONE = "The guide is not built yet. Build it with:\n\n  npm run docs\n\nthen load this page again.\n";

/** Paths with slashes, whatever the system's separator. Undefined where there is no such folder. */
function namesBelow(folder: string): Set<string> | undefined {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const names = entries.map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"));
    return new Set(names.filter((name) => Object.hasOwn(TYPES, extname(name))));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
