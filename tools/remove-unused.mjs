// Removes what packages carry and nothing here reads, 180 MB of an install. Of every package that is its documentation, source maps,
// libraries to link with, and types for CommonJS and Flow; of some also the folders below. All code here is made of ES modules, so
// a package's second build as CommonJS is never loaded. Licences stay.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const UNUSED_FILE = /\.(?:(?:js|cjs|mjs|ts|cts|mts|css)\.map|d\.cts|flow|a)$/;
const DOCUMENT = /\.(?:md|markdown)$/i;
const LICENCE = /^(?:licen[cs]e|notice|copying|third)/i;

/** For compilers: nothing is compiled. Style sheets that are not ours. Tests. Second builds, and the sources of builds. */
const UNUSED_FOLDERS = {
  "node-llama-cpp": ["llama/gitRelease.bundle"],
  "highlight.js": ["scss", "styles", "es"],
  stripe: ["cjs"],
  kysely: ["dist/cjs"],
  nodemailer: ["dist/cjs"],
  zod: ["src"],
  minisearch: ["src"],
  ajv: ["lib"],
  avvio: ["test"],
  bintrees: ["test"],
  "fast-json-stringify": ["test"],
  "fast-uri": ["test"],
  fastify: ["test", "docs", "examples"],
  "find-my-way": ["test"],
  "light-my-request": ["test"],
  pino: ["test", "docs", "examples", "benchmarks"],
  "thread-stream": ["test"],
};
/** Of React only what runs in a browser is used. */
const REACT_SERVER = /^react-dom-(?:server|profiling)/;

export function removeUnused(root) {
  const modules = join(root, "node_modules");
  for (const [name, folders] of Object.entries(UNUSED_FOLDERS))
    for (const folder of folders) remove(join(modules, name, folder));
  for (const name of namesIn(join(modules, "@tanstack")))
    for (const folder of ["src", "dist/cjs"]) remove(join(modules, "@tanstack", name, folder));
  for (const name of namesIn(join(modules, "@better-auth"))) remove(join(modules, "@better-auth", name, "src"));
  for (const name of namesIn(join(modules, "node", "node_modules")))
    if (!name.startsWith(".")) remove(join(modules, "node", "node_modules", name, "include"));
  const react = join(modules, "react-dom", "cjs");
  for (const name of namesIn(react)) if (REACT_SERVER.test(name)) remove(join(react, name));
  removeFiles(modules);
  // What npm could not put at the root.
  for (const part of ["gateway", "host", "console"]) removeFiles(join(root, part, "node_modules"));
}

function removeFiles(folder) {
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) removeFiles(path);
    else if (entry.isFile() && isUnused(entry.name)) rmSync(path);
  }
}

const isUnused = (name) => UNUSED_FILE.test(name) || (DOCUMENT.test(name) && !LICENCE.test(name));
const entriesOf = (folder) => (existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []);
const namesIn = (folder) => entriesOf(folder).map(({ name }) => name);
const remove = (path) => rmSync(path, { recursive: true, force: true });
