/**
 * Takes the screenshots in docs/pictures: every page of the console on a platform that looks used. `node
 * e2e/console/pictures.ts` replaces them. With a folder as argument it also writes larger PNG copies there. Further
 * arguments are names of pictures, and select these.
 */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Platform } from "@tollgate/stage/dev-platform.ts";
import type { Page } from "playwright-core";
import { buildConsole, openBrowser, type Theme } from "./console-browser.ts";
import { type LifelikePlatform, openLifelikePlatform } from "./lifelike/lifelike-platform.ts";
import { type PageScreenshot, PICTURE_GROUPS } from "./pictures/page-screenshots.ts";
import { keepRequestsRunning } from "./pictures/running-requests.ts";

const FOLDER = fileURLToPath(new URL("../../docs/pictures", import.meta.url));
/** WebP qualities. The highest one that keeps a picture within BYTES_MAX is used. */
const QUALITIES = [80, 70, 60, 50, 40, 30, 20];
const BYTES_MAX = 40 * 1024;
const [copies, ...names] = process.argv.slice(2);

const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } };
const LOOKS = [
  { suffix: "", theme: "light", size: "wide" },
  { suffix: "-dark", theme: "dark", size: "wide" },
  { suffix: "-narrow", theme: "light", size: "narrow" },
] as const;

// Otherwise the pictures would show the machine's time zone.
process.env.TZ = "UTC";
buildConsole();
const stage = await openLifelikePlatform();
const stop = await keepRequestsRunning(stage);
try {
  if (names.length === 0) await removeOwn();
  for (const folder of [FOLDER, copies]) if (folder !== undefined) await mkdir(folder, { recursive: true });
  for (const look of LOOKS) await takeAll(stage, look);
} finally {
  await stop();
  await stage.close();
}

/**
 * Removes the pictures that this program makes. Other programs make those of the dashboards (tools/dashboards) and the
 * charts (bench/gateway/charts).
 */
async function removeOwn(): Promise<void> {
  const own = (await readdir(FOLDER)).filter((name) => name.endsWith(".webp") && !name.startsWith("dashboard-"));
  for (const name of own) await rm(join(FOLDER, name));
}

interface Look {
  suffix: string;
  theme: Theme;
  size: keyof typeof SIZES;
}

async function takeAll({ platform }: LifelikePlatform, { suffix, theme, size }: Look): Promise<void> {
  for (const { who, enter, pictures } of PICTURE_GROUPS) {
    const wanted = pictures
      .filter(({ also = [] }) => suffix === "" || also.some((other) => other === suffix))
      .filter(({ name }) => names.length === 0 || names.includes(name));
    if (wanted.length === 0) continue;
    const browser = await openBrowser({ baseUrl: platform.ready.gateway_url, theme, ...SIZES[size] });
    try {
      await enter(browser.page, platform);
      for (const picture of wanted) await take(browser.page, { picture, name: `${picture.name}${suffix}`, platform });
      console.log(`${who}${suffix}: ${browser.complaints().join("; ") || "no complaints"}`);
    } finally {
      await browser.close();
    }
  }
}

interface Shot {
  picture: PageScreenshot;
  name: string;
  platform: Platform;
}

async function take(page: Page, { picture: { path, outside, there, open }, name, platform }: Shot): Promise<void> {
  const address = outside ?? (path === undefined ? undefined : `/console${path}`);
  if (address !== undefined) await page.goto(address);
  await page.getByText(there).filter({ visible: true }).first().waitFor();
  await open?.(page, platform);
  await settled(page);
  const bytes = await capture(page);
  await writeFile(join(FOLDER, `${name}.webp`), bytes);
  if (copies !== undefined) await page.screenshot({ path: join(copies, `${name}.png`) });
  console.log(`${name}.webp ${bytes.length}${bytes.length > BYTES_MAX ? ", larger than it should be" : ""}`);
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

/** Moves the mouse pointer away, and resolves when nothing loads or moves any more. */
async function settled(page: Page): Promise<void> {
  await page.mouse.move(0, 0);
  await page.locator("#root .animate-breathe.bg-sunken").first().waitFor({ state: "detached" });
  await page.evaluate(`Promise.all(document.getAnimations()
    .filter(({ effect }) => effect.getComputedTiming().iterations !== Infinity)
    .map(({ finished }) => finished.catch(() => undefined))).then(() => undefined)`);
  await page.evaluate(
    "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => undefined)",
  );
}
