/** Draws dashboards in an offline Chromium: the page, its icons and its font come from installed packages. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page, Route } from "playwright-core";
import { openBrowser } from "../../e2e/console/console-browser.ts";
import type { DashboardData } from "./query-dashboard.ts";

const ORIGIN = "http://dashboards.invalid";
const WIDTH = 1440;
/** Image qualities to try, best first: the first that keeps the picture small enough is used. */
const QUALITIES = [90, 80, 70, 60, 50];
const BYTES_MAX = 150 * 1024;
const HTML = `<!doctype html><html lang="en"><head><link rel="stylesheet" href="/page.css"></head>
<body style="margin: 0"><div id="root"></div><script src="/drawing.js"></script><script type="module" src="/page.js"></script></body></html>`;
const FONTS: Record<string, string> = {
  "Inter-Regular.woff2": "inter-latin-400-normal.woff2",
  "Inter-Medium.woff2": "inter-latin-500-normal.woff2",
};

interface Picture {
  webp: Buffer;
  png: Buffer;
}

/** Draws one dashboard. `installed`: the folder into which `buildDashboardPage` wrote everything. */
export async function drawDashboard(drawing: DashboardData, installed: string): Promise<Picture> {
  const browser = await openBrowser({ baseUrl: ORIGIN, width: WIDTH });
  const { page } = browser;
  try {
    await page.route("**/*", (route) => serve(route, drawing, installed));
    await page.goto("/");
    await page
      .locator("section")
      .nth(drawing.panels.length - 1)
      .waitFor();
    await drawn(page);
    const height = await page.evaluate<number>("document.querySelector('main').scrollHeight");
    await page.setViewportSize({ width: WIDTH, height });
    await drawn(page);
    const complaints = browser.complaints();
    if (complaints.length > 0) throw new Error(`${drawing.title}: ${complaints.join("\n")}`);
    return { webp: await capture(page), png: await page.screenshot() };
  } finally {
    await browser.close();
  }
}

async function serve(route: Route, drawing: DashboardData, installed: string): Promise<void> {
  const { pathname } = new URL(route.request().url());
  const packages = join(installed, "node_modules");
  if (pathname === "/") return route.fulfill({ contentType: "text/html", body: HTML });
  if (pathname === "/drawing.js")
    return route.fulfill({ contentType: "text/javascript", body: `window.drawing = ${JSON.stringify(drawing)};` });
  const icon = /^\/public\/build\/(img\/icons\/[\w/-]+\.svg)$/.exec(pathname)?.[1];
  if (icon !== undefined) return route.fulfill({ path: join(packages, "@grafana/ui/dist/public", icon) });
  const font = FONTS[pathname.split("/").at(-1) ?? ""];
  if (font !== undefined) return route.fulfill({ path: join(packages, "@fontsource/inter/files", font) });
  const built = /^\/(page\.(?:js|css))$/.exec(pathname)?.[1];
  if (built === undefined) return route.fulfill({ status: 404, body: "" });
  const contentType = built.endsWith("js") ? "text/javascript" : "text/css";
  return route.fulfill({ contentType, body: await readFile(join(installed, "built", built)) });
}

/** Resolves when fonts and icons are loaded and charts have their final size, which takes a few more frames. */
async function drawn(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  await page.evaluate("document.fonts.ready.then(() => undefined)");
  await page.waitForTimeout(1_000);
}

async function capture(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  let bytes = Buffer.alloc(0);
  for (const quality of QUALITIES) {
    const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality });
    bytes = Buffer.from(data, "base64");
    if (bytes.length <= BYTES_MAX) break;
  }
  await session.detach();
  return bytes;
}
