#!/usr/bin/env node
// Starts the host's command line on a Node that runs TypeScript sources: this one, or the one pinned in the workspace.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const NODE_MAJOR = 24;
const args = process.argv.slice(2);

if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR) {
  const { run } = await import("../src/cli.ts");
  process.exit(await run(args));
}

const manifest = createRequire(import.meta.url).resolve("node/package.json");
const pinned = join(dirname(manifest), "bin", process.platform === "win32" ? "node.exe" : "node");
const channel = process.send === undefined ? [] : ["ipc"];
const child = spawn(pinned, [fileURLToPath(import.meta.url), ...args], {
  stdio: ["inherit", "inherit", "inherit", ...channel],
});
// Ctrl-C reaches the child by itself; it decides when to end, and this process waits for it.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
if (process.send !== undefined) {
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
