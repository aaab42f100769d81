#!/usr/bin/env node
// Starts the host's command line on a Node that can run it: this one, or the one pinned in the workspace.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import * as nodeModule from "node:module";
import { Socket } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// TypeScript sources need Node 24. The npm package is JavaScript, which Node 20 runs (host/tsconfig.package.json).
const NODE_MAJOR = existsSync(new URL("../src/cli.ts", import.meta.url)) ? 24 : 20;
const args = process.argv.slice(2);
// Started on another Node, this process has a twin. The twin holds one end of a pipe whose other end dies with the first,
// however that ends, and then stops as by SIGTERM. Where there is a channel to a parent its end does that.
const LIFELINE = "TOLLGATE_LIFELINE_FD";
const LIFELINE_FD = 3;
const { [LIFELINE]: held, ...env } = process.env;
delete process.env[LIFELINE];

if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR) {
  if (held === String(LIFELINE_FD)) {
    const lifeline = new Socket({ fd: LIFELINE_FD, readable: true, writable: false });
    lifeline.on("error", () => {}).on("close", () => process.kill(process.pid, "SIGTERM"));
    lifeline.resume().unref();
  }
  // Stripped of their types and compiled once, not at every start, where this user could change the sources as well.
  nodeModule.enableCompileCache?.(fileURLToPath(new URL("../node_modules/.cache/compiled", import.meta.url)));
  const { runTollgateHost } = await import("../src/cli.ts");
  process.exit(await runTollgateHost(args));
}

const isWindows = process.platform === "win32";
const isSupervised = process.send !== undefined;
const child = spawn(pinnedNode(), [fileURLToPath(import.meta.url), ...args], {
  stdio: ["inherit", "inherit", "inherit", isSupervised ? "ipc" : "pipe"],
  env: isSupervised || isWindows ? env : { ...env, [LIFELINE]: String(LIFELINE_FD) },
});
// Ctrl-C reaches the child by itself; it decides when to end, and this process waits for it.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
if (isSupervised) {
  child.on("message", (message) => process.send?.(message));
  process.on("message", (message) => child.send(message));
  process.on("disconnect", () => child.disconnect());
}
child.on("error", (error) => {
  console.error(`tollgate-host: the pinned Node cannot run: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(code ?? (signal === null ? 1 : 128));
});

/** Of the npm package `node`: the workspace has it, and who installs `tollgate-host` where Node is older may add it. */
function pinnedNode() {
  try {
    const manifest = nodeModule.createRequire(import.meta.url).resolve("node/package.json");
    return join(dirname(manifest), "bin", isWindows ? "node.exe" : "node");
  } catch {
    console.error(`tollgate-host: Node ${NODE_MAJOR} or newer is needed, and this is ${process.version}`);
    console.error(`  next: npm install node@${NODE_MAJOR} beside it, or use a newer Node`);
    process.exit(1);
  }
}
