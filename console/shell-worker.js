/**
 * Keeps the console's frame for when the gateway is away: the one page and the files of this build, never an answer of the API.
 * The page always comes from the gateway first, so a new build is there with the next load; its worker then takes the place of
 * this one and its files the place of these.
 */
/* global self, caches, clients */

/** Filled in by the build (tools/write-service-worker.ts). */
const BUILD = "__BUILD__";
const ENTRY = "__ENTRY__";
const FILES = ["__FILES__"];

const PREFIX = "tollgate-shell-";
const CACHE = `${PREFIX}${BUILD}`;
const PAGE = "/console/";
const AWAY = [502, 503, 504];

self.addEventListener("install", (event) => event.waitUntil(keepBuild()));
self.addEventListener("activate", (event) => event.waitUntil(takeOver()));
self.addEventListener("fetch", (event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (event.request.method !== "GET" || origin !== self.location.origin) return;
  if (!pathname.startsWith("/console") || pathname.startsWith("/console/api")) return;
  if (event.request.mode === "navigate") event.respondWith(networkFirst(event.request, PAGE));
  else if (pathname.startsWith("/console/assets/")) event.respondWith(cacheFirst(event.request));
  else if (FILES.includes(pathname)) event.respondWith(networkFirst(event.request, pathname));
});

async function keepBuild() {
  const cache = await caches.open(CACHE);
  const page = await fetch(PAGE, { cache: "no-store" });
  // While a new build is rolled out one gateway may give the page and another this worker: then better none than half.
  if (!page.ok || !(await page.clone().text()).includes(ENTRY)) throw new Error("the page is of another build");
  await Promise.all([cache.put(PAGE, page), cache.addAll(FILES)]);
  await self.skipWaiting();
}

async function takeOver() {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
  // No navigation preload: what this worker leaves alone, such as the way back from a sign-in provider, would be asked for twice.
  await clients.claim();
}

async function networkFirst(request, kept) {
  try {
    const response = await fetch(request);
    if (!AWAY.includes(response.status)) return response;
    return (await fromCache(kept)) ?? response;
  } catch (error) {
    const found = await fromCache(kept);
    if (found === undefined) throw error;
    return found;
  }
}

async function cacheFirst(request) {
  return (await fromCache(request)) ?? fetch(request);
}

async function fromCache(what) {
  return (await caches.open(CACHE)).match(what);
}
