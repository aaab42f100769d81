/** Targets without accounts, to compare Tollgate with: the engine itself, a bare proxy, nginx and Portkey. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { BenchProcess } from "../bench-process.ts";
import { FAKE_MODEL } from "../fake-engine.ts";
import { createRelayTarget, type StartTarget, TargetUnavailable, waitUntilListening } from "./target.ts";

/** The engine without a gateway, which is the baseline for all targets. */
export const directEngine: StartTarget = async ({ engine }) => ({
  name: "direct",
  address: { port: engine.port, models: { chat: FAKE_MODEL, embedding: FAKE_MODEL }, headers: {} },
  parts: {},
  inspectors: {},
  stop: async () => {},
});

const PROXY = fileURLToPath(new URL("./bare-proxy.ts", import.meta.url));

/** A proxy that only relays (`bare-proxy.ts`). */
export const bareProxy: StartTarget = async ({ engine, processors, outDir }) => {
  const child = new BenchProcess({
    name: "bare",
    command: [process.execPath, PROXY, String(engine.port)],
    processors: processors.measured,
    outDir,
    channel: true,
  });
  const port = await child.message((message) => {
    const { type, port } = message as { type: string; port: number };
    return type === "listening" ? port : undefined;
  });
  return createRelayTarget("bare", child, { port });
};

const NGINX_PLACES = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/opt/homebrew/bin/nginx"];

/** nginx as a reverse proxy: one worker, kept-alive connections to the engine, no logs, no buffering of responses. */
export const nginx: StartTarget = async ({ engine, processors, outDir }) => {
  const program = process.env.NGINX ?? NGINX_PLACES.find(existsSync);
  if (program === undefined) throw new TargetUnavailable("nginx is not installed (or set NGINX to its path)");
  const home = join(outDir, "nginx");
  await mkdir(home, { recursive: true });
  const port = await findFreePort();
  const config = join(home, "nginx.conf");
  await writeFile(config, nginxConfiguration({ home, port, enginePort: engine.port }));
  const child = new BenchProcess({
    name: "nginx",
    command: [program, "-p", home, "-e", join(home, "error.log"), "-c", config, "-g", "daemon off;"],
    processors: processors.measured,
    outDir,
  });
  await waitUntilListening(child, port);
  const [, version] = /nginx\/(\S+)/.exec(spawnSync(program, ["-v"], { encoding: "utf8" }).stderr) ?? [];
  return createRelayTarget("nginx", child, { port, withChildren: true, ...(version !== undefined && { version }) });
};

function nginxConfiguration({ home, port, enginePort }: { home: string; port: number; enginePort: number }): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((what) => `  ${what}_temp_path ${join(home, what)};`)
    .join("\n");
  return `${process.getuid?.() === 0 ? "user root;\n" : ""}worker_processes 1;
pid ${join(home, "nginx.pid")};
error_log ${join(home, "error.log")} error;
worker_rlimit_nofile 16384;
events { worker_connections 8192; multi_accept on; }
http {
  access_log off;
  tcp_nodelay on;
${temporary}
  client_body_buffer_size 512k;
  client_max_body_size 16m;
  keepalive_requests 1000000;
  keepalive_timeout 600s;
  upstream engine {
    server 127.0.0.1:${enginePort};
    keepalive 1024;
    keepalive_requests 1000000;
    keepalive_timeout 600s;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://engine;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 120s;
    }
  }
}
`;
}

const PORTKEY = fileURLToPath(new URL("../peers/portkey", import.meta.url));
const PORTKEY_PACKAGE = `${PORTKEY}/node_modules/@portkey-ai/gateway/package.json`;
const PORTKEY_SERVER = `${PORTKEY}/node_modules/@portkey-ai/gateway/build/start-server.js`;
const ON_LOOPBACK = new URL("./listen-on-loopback.ts", import.meta.url).href;
const INSTALL_WITHIN_MS = 180_000;

/** Portkey with its dependencies is pinned in peers/portkey and installed there before its first run. */
export const portkey: StartTarget = async ({ engine, processors, outDir }) => {
  installPortkey();
  const port = await findFreePort();
  const child = new BenchProcess({
    name: "portkey",
    command: [process.execPath, "--import", ON_LOOPBACK, PORTKEY_SERVER, `--port=${port}`, "--headless"],
    processors: processors.measured,
    outDir,
    cwd: PORTKEY,
  });
  await waitUntilListening(child, port);
  const headers = { "x-portkey-provider": "openai", "x-portkey-custom-host": `${engine.url}/v1` };
  const { version } = JSON.parse(await readFile(PORTKEY_PACKAGE, "utf8"));
  return createRelayTarget("portkey", child, { port, headers, version });
};

function installPortkey(): void {
  if (existsSync(PORTKEY_SERVER)) return;
  const options = { cwd: PORTKEY, encoding: "utf8", timeout: INSTALL_WITHIN_MS } as const;
  const { status, error, stderr } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], options);
  if (status === 0) return;
  const why = error?.message ?? stderr.trim().split("\n").at(-1) ?? `npm ended with ${status}`;
  throw new TargetUnavailable(`it cannot be installed: ${why}`);
}
