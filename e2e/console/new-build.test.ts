/**
 * A new build of the console replaces the old one that a browser has cached: at the next load, and from then on also
 * while the gateway is unreachable.
 */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type BrowserSession, buildConsole, NEEDS_CHROMIUM, openBrowser, waitUntilEqual } from "./console-browser.ts";

const DIST = fileURLToPath(new URL("../../console/dist", import.meta.url));
const TYPES: Record<string, string> = { ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

const entryOf = (dir: string): string =>
  /assets\/(index-[\w-]+)\.js/.exec(readFileSync(join(dir, "index.html"), "utf8"))?.[1] ?? "";

function copyOf(build: string): string {
  const dir = mkdtempSync(join(tmpdir(), "tollgate-build-"));
  cpSync(build, dir, { recursive: true });
  return dir;
}

/**
 * A copy of the console in which every script is renamed, as in a new build. A page must never load scripts of both
 * builds.
 */
function nextBuild(build: string): string {
  const dir = copyOf(build);
  const assets = join(dir, "assets");
  const old = entryOf(dir);
  const parts = readdirSync(assets)
    .filter((name) => name.endsWith(".js"))
    .map((name) => name.slice(0, -".js".length));
  const renamed = (part: string): string => (part === old ? "index-next" : `${part}-next`);
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!/\.(js|html)$/.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const text = readFileSync(path, "utf8").replace(/BUILD = "\w+"/, 'BUILD = "next"');
    writeFileSync(
      path,
      parts.reduce((changed, part) => changed.replaceAll(part, renamed(part)), text),
    );
  }
  for (const part of parts) renameSync(join(assets, `${part}.js`), join(assets, `${renamed(part)}.js`));
  return dir;
}

/** Serves a build of the console, with the API responses that the sign-in page needs. */
function serve(dir: string, port = 0): Promise<Server> {
  const server = createServer(({ url = "/" }, response) => {
    const { pathname } = new URL(url, "http://gateway");
    if (pathname.startsWith("/console/api/")) {
      const signedOut = JSON.stringify({ identity: null, accounts: [], providers: [] });
      return response.setHeader("content-type", "application/json").end(signedOut);
    }
    const type = TYPES[extname(pathname)];
    const file = type === undefined ? "index.html" : pathname.slice("/console/".length);
    response.setHeader("content-type", type ?? "text/html").setHeader("cache-control", "no-cache");
    response.end(readFileSync(join(dir, file)));
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)));
}

async function stop(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

describe("a new build of the console", NEEDS_CHROMIUM, () => {
  let first: string;
  let next: string;
  let server: Server;
  let browser: BrowserSession;

  before(async () => {
    buildConsole();
    // A copy, because another suite may rebuild the console at the same time.
    first = copyOf(DIST);
    next = nextBuild(first);
    server = await serve(first);
    browser = await openBrowser({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  });
  after(async () => {
    await browser?.close();
    if (server?.listening) await stop(server);
    for (const dir of [first, next]) rmSync(dir, { recursive: true, force: true });
  });

  test("replaces the cached old build at the next load, and keeps the old build until then", async () => {
    const { page } = browser;
    const { port } = server.address() as AddressInfo;
    const script = (): Promise<string | null> => page.locator("script[type=module]").getAttribute("src");
    const kept = (): Promise<string[]> => page.evaluate("caches.keys()");
    const away = page.getByText(/Gateway unreachable since/);
    await page.goto("/console/sign-in");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.evaluate("navigator.serviceWorker.ready.then(() => undefined)");
    await stop(server);
    await page.reload();
    await away.waitFor();
    assert.equal(await script(), `/console/assets/${entryOf(first)}.js`);

    server = await serve(next, port);
    await away.waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.equal(await script(), "/console/assets/index-next.js");
    await waitUntilEqual("the builds that are kept", kept, ["tollgate-shell-next"]);
    await stop(server);
    await page.reload();
    await away.waitFor();
    assert.equal(await script(), "/console/assets/index-next.js");
  });
});
