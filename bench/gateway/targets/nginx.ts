/** nginx as a reverse proxy: one worker, kept-alive connections to the engine, no logs, nothing buffered on the way back. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Child, freePort } from "../machine/children.ts";
import { listening, passThrough, type StartTarget, Unavailable } from "./target.ts";

const PLACES = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/opt/homebrew/bin/nginx"];

export const nginx: StartTarget = async ({ engine, processors, outDir }) => {
  const program = process.env.NGINX ?? PLACES.find(existsSync);
  if (program === undefined) throw new Unavailable("nginx is not installed (or set NGINX to its path)");
  const home = join(outDir, "nginx");
  await mkdir(home, { recursive: true });
  const port = await freePort();
  const config = join(home, "nginx.conf");
  await writeFile(config, configuration({ home, port, enginePort: engine.port }));
  const child = new Child({
    name: "nginx",
    command: [program, "-p", home, "-e", join(home, "error.log"), "-c", config, "-g", "daemon off;"],
    processors: processors.measured,
    outDir,
  });
  await listening(child, port);
  return passThrough("nginx", child, { port, withChildren: true });
};

function configuration({ home, port, enginePort }: { home: string; port: number; enginePort: number }): string {
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
