/**
 * `npm run dashboards`: draws the dashboards in deploy/ for docs/pictures, with figures of a platform under load.
 * Grafana's own components draw them, because Grafana itself is not available as a package.
 *
 * `-- --again` draws the last recording again; `-- --copies FOLDER` writes PNG copies there. Exits with 1 if a panel
 * shows nothing.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Prometheus } from "../../e2e/outside/prometheus.ts";
import { ensureServers } from "../install-test-servers.ts";
import { natsBuilder } from "../nats-servers.ts";
import { readDashboards } from "./dashboards.ts";
import { drawDashboard } from "./draw-dashboard.ts";
import { buildDashboardPage } from "./install.ts";
import { queryDashboard } from "./query-dashboard.ts";
import { type Recording, recordPlatform, SCRAPE_INTERVAL_S } from "./record-platform.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const CACHE = join(ROOT, ".cache/dashboards");
const RECORDED = join(CACHE, "recording");
const PICTURES = join(ROOT, "docs/pictures");

const { values: flags } = parseArgs({
  options: { again: { type: "boolean", default: false }, copies: { type: "string" } },
});
const begun = performance.now();
const say = (line: string): void =>
  console.log(`${((performance.now() - begun) / 1000).toFixed(0).padStart(5)} s  ${line}`);

// Uses UTC, so that the pictures do not depend on the machine's time zone.
process.env.TZ = "UTC";
process.env.NODE_COMPILE_CACHE ??= join(ROOT, "node_modules/.cache/compiled");
for (const line of [...ensureServers(), ...(await natsBuilder.newest())]) console.log(line);
const installed = join(CACHE, "page");
await buildDashboardPage(installed);
const recording = flags.again
  ? (JSON.parse(await readFile(join(RECORDED, "recording.json"), "utf8")) as Recording)
  : await recordPlatform(RECORDED, say);
const empty = await drawAll(recording);
for (const panel of empty) console.log(`nothing to show: ${panel}`);
process.exit(empty.length === 0 ? 0 : 1);

/** Draws all dashboards and returns the panels that are empty. */
async function drawAll({ from, to }: Recording): Promise<string[]> {
  const prometheus = await Prometheus.open({ targets: {}, keepIn: join(RECORDED, "scraped") });
  const empty: string[] = [];
  try {
    if (flags.copies !== undefined) await mkdir(flags.copies, { recursive: true });
    for (const dashboard of readDashboards()) {
      const drawing = await queryDashboard(prometheus, dashboard, { from, to, scrape: SCRAPE_INTERVAL_S });
      const { webp, png } = await drawDashboard(drawing, installed);
      await writeFile(join(PICTURES, `dashboard-${dashboard.name}.webp`), webp);
      if (flags.copies !== undefined) await writeFile(join(flags.copies, `${dashboard.name}.png`), png);
      say(`dashboard-${dashboard.name}.webp ${webp.length}`);
      for (const { title, series } of drawing.panels) if (series.length === 0) empty.push(`${drawing.title}: ${title}`);
    }
  } finally {
    await prometheus.close();
  }
  return empty;
}
