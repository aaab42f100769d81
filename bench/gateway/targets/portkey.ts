/** Portkey's gateway, pinned with everything it needs in peers/portkey; installed there the first time it is measured. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Child, freePort } from "../machine/children.ts";
import { listening, passThrough, type StartTarget, Unavailable } from "./target.ts";

const HOME = fileURLToPath(new URL("../peers/portkey", import.meta.url));
const SERVER = `${HOME}/node_modules/@portkey-ai/gateway/build/start-server.js`;
const ON_LOOPBACK = new URL("./on-loopback.ts", import.meta.url).href;
const INSTALL_WITHIN_MS = 180_000;

export const portkey: StartTarget = async ({ engine, processors, outDir }) => {
  install();
  const port = await freePort();
  const child = new Child({
    name: "portkey",
    command: [process.execPath, "--import", ON_LOOPBACK, SERVER, `--port=${port}`, "--headless"],
    processors: processors.measured,
    outDir,
    cwd: HOME,
  });
  await listening(child, port);
  const headers = { "x-portkey-provider": "openai", "x-portkey-custom-host": `${engine.url}/v1` };
  return passThrough("portkey", child, { port, headers });
};

function install(): void {
  if (existsSync(SERVER)) return;
  const options = { cwd: HOME, encoding: "utf8", timeout: INSTALL_WITHIN_MS } as const;
  const { status, error, stderr } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], options);
  if (status === 0) return;
  const why = error?.message ?? stderr.trim().split("\n").at(-1) ?? `npm ended with ${status}`;
  throw new Unavailable(`it cannot be installed: ${why}`);
}
