// Builds the file tree of a role, gateway or host, as the image has it under /app: the sources without their tests, what they need
// to run, the built console and the built guide. `node deploy/image/build-tree.mjs gateway DIRECTORY` is what the Dockerfile calls; the directory serves
// just as well without an image (systemd/). Plain JavaScript: it runs on whatever Node the machine has.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

const ROLES = {
  gateway: {
    folders: ["api", "protocol", "gateway"],
    files: {
      "deploy/image/healthcheck.mjs": "healthcheck.mjs",
      "console/dist": "console/dist",
      "docs/dist": "docs/dist",
    },
    // The private PostgreSQL is for one machine: an image is given a DATABASE_URL.
    npm: ["--workspace", "gateway", "--omit", "optional"],
  },
  // Optional here is llama.cpp, built for this machine.
  host: { folders: ["api", "protocol", "host"], files: {}, npm: ["--workspace", "host"] },
};
/** Of a package, what it is made of. */
const PARTS = ["package.json", "bin", "src", "sql", "catalogue", "models"];
const isForTests = (path) =>
  /\.test\.ts$/.test(path) || ["testing", "testing.ts", "fixtures", "testing-certificate.ts"].includes(basename(path));

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

// npm installs by the lockfile of the whole workspace, and wants to see every part of it.
const { workspaces } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const manifests = ["package.json", "package-lock.json", ...workspaces.map((folder) => `${folder}/package.json`)];
for (const file of manifests) copy(file, file);
const install = [
  "ci",
  "--omit",
  "dev",
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
  "--loglevel",
  "error",
  ...role.npm,
];
const { status, error } = spawnSync("npm", install, { cwd: tree, stdio: ["ignore", "ignore", "inherit"] });
if (status !== 0) {
  console.error(`build-tree: npm ci failed${error === undefined ? "" : ` (${error.message})`}`);
  process.exit(1);
}
for (const folder of workspaces) {
  if (!role.folders.includes(folder)) rmSync(join(tree, folder), { recursive: true });
}
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
