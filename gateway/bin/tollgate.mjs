#!/usr/bin/env -S MALLOC_ARENA_MAX=1 node --max-semi-space-size=16
// Runs the command line on the pinned Node, whichever Node started this file: the sources are TypeScript and need 24.
// The flag keeps a gateway with a thousand streams 70 MB smaller than V8 would by itself, at no cost that can be measured. So does the
// setting, by 4 MB at rest: without it the C library keeps for each of V8's threads apart what a compilation or collection took.
import { spawn } from "node:child_process";
import * as nodeModule from "node:module";
import { Socket } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";

// An older Node runs this file twice. The second process holds one end of a pipe whose other end dies with the first, however
// that ends, and then stops as by SIGTERM.
const LIFELINE = "TOLLGATE_LIFELINE_FD";
const LIFELINE_FD = 3;
const { [LIFELINE]: held, ...env } = process.env;
delete process.env[LIFELINE];

if (Number(process.versions.node.split(".")[0]) >= 24) {
  if (held === String(LIFELINE_FD)) {
    const lifeline = new Socket({ fd: LIFELINE_FD, readable: true, writable: false });
    lifeline.on("error", () => {}).on("close", () => process.kill(process.pid, "SIGTERM"));
    lifeline.resume().unref();
  }
  collectLater();
  keepCompiled();
  await import("../src/commands/cli.ts");
} else {
  const child = spawn(
    pinnedNode(),
    ["--max-semi-space-size=16", fileURLToPath(import.meta.url), ...process.argv.slice(2)],
    {
      stdio: ["inherit", "inherit", "inherit", "pipe"],
      env: { ...env, MALLOC_ARENA_MAX: "1", [LIFELINE]: String(LIFELINE_FD) },
    },
  );
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)));
}

/**
 * A full collection begins when half of what the heap may still grow by has been asked for, bodies beside the heap included, and no longer
 * with the first piece: large bodies had V8 collect everything four times a second, for twice the processor time of their requests.
 */
function collectLater() {
  setFlagsFromString("--incremental-marking-soft-trigger=50");
  setFlagsFromString("--incremental-marking-hard-trigger=80");
}

/**
 * The sources are stripped of their types and compiled once, not at every start: a third of it. What comes out is kept beside
 * them, where only those can write who could change the sources as well. Where nobody can, as in an image, each start compiles.
 */
function keepCompiled() {
  const folder = fileURLToPath(new URL("../node_modules/.cache/compiled", import.meta.url));
  nodeModule.enableCompileCache(folder);
  // Threads look for it there.
  process.env.NODE_COMPILE_CACHE ||= folder;
}

/** Of the npm package `node`: the workspace has it, and who installs `tollgate` where Node is older may add it. */
function pinnedNode() {
  try {
    return join(dirname(nodeModule.createRequire(import.meta.url).resolve("node/package.json")), "bin", "node");
  } catch {
    console.error(`tollgate: Node 24 or newer is needed, and this is ${process.version}`);
    console.error("  next: npm install node@24 beside it, or use a newer Node");
    process.exit(1);
  }
}
