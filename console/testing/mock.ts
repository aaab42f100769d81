/**
 * The console with a made-up API behind it, to look at pages and take pictures without a platform:
 * `node console/testing/mock.ts --port 8099 [--empty]`. Sign in with any address and password; `two@…` is asked for a code,
 * `new@…` has no account, `operator@…` is one. It is no model of the gateway: refusals and limits are tested on the real one.
 */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { MockApi } from "./mock-api.ts";

const DIST = fileURLToPath(new URL("../dist", import.meta.url));
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const TYPES: Record<string, string> = {
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".html": "text/html; charset=utf-8",
};

export interface Mock {
  url: string;
  api: MockApi;
  close(): void;
}

export async function startMock(options: { port?: number; empty?: boolean } = {}): Promise<Mock> {
  const api = new MockApi({ empty: options.empty ?? false });
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://mock");
    const isApi = /^\/(console\/api|v1)\//.test(url.pathname);
    (isApi ? api.answer(request, response, url) : sendFile(url.pathname, response)).catch((error: Error) => {
      response.writeHead(500, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ error: { message: error.message, type: "internal_error", code: "internal_error" } }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    api,
    close: () => {
      api.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

async function sendFile(path: string, response: ServerResponse<IncomingMessage>): Promise<void> {
  const name = path.replace(/^\/console\/?/, "");
  const file = TYPES[extname(name)] === undefined ? "index.html" : name;
  response.writeHead(200, {
    "content-type": TYPES[extname(file)] ?? "text/plain",
    "content-security-policy": POLICY,
    "cache-control": "no-store",
  });
  response.end(readFileSync(join(DIST, file)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { port: { type: "string", default: "8099" }, empty: { type: "boolean", default: false } },
  });
  const { url } = await startMock({ port: Number(values.port), empty: values.empty });
  console.log(`${url}/console/`);
}
