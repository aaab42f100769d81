/** Installs Grafana's components on first use, and bundles the page that draws the dashboards with them. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "vite";

const SOURCES = fileURLToPath(new URL("page/", import.meta.url));
const LOCK = "package-lock.json";

/** Builds the page into the subfolder `built` of `folder`. */
export async function buildDashboardPage(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const stamp = join(folder, "installed");
  const wanted = await readFile(join(SOURCES, LOCK), "utf8");
  if (!existsSync(stamp) || (await readFile(stamp, "utf8")) !== wanted) {
    for (const file of ["package.json", LOCK]) await copyFile(join(SOURCES, file), join(folder, file));
    // Does not run the packages' install scripts.
    await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--loglevel=error"], { cwd: folder });
    await writeFile(stamp, wanted);
  }
  await copyFile(join(SOURCES, "page.mjs"), join(folder, "page.mjs"));
  await build({
    ...{ root: folder, configFile: false, logLevel: "error" },
    define: { "process.env.NODE_ENV": '"production"' },
    build: {
      ...{ outDir: "built", minify: false, chunkSizeWarningLimit: Number.POSITIVE_INFINITY },
      lib: { entry: "page.mjs", formats: ["es"], fileName: () => "page.js", cssFileName: "page" },
    },
  });
}
