/**
 * Starts the proxies with their configurations in deploy/proxies. Only addresses, ports and the path of the certificate
 * are replaced. Each gateway has its own loopback address, so that all can use the ports in the configurations.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { delimiter, join } from "node:path";
import { findFreePort } from "@tollgate/stage/killable-process.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { findPythonTool, type PythonTool } from "../../tools/python-tools.ts";

/** The timeout of a health check in seconds. Long, because the machine may be busy. */
const CHECK_S_MAX = 300;
/** The loopback address of each gateway. */
export const GATEWAY_ADDRESSES = ["127.0.0.11", "127.0.0.12"] as const;

export interface Upstream {
  port: number;
  internalPort: number;
}

interface ProxyKind {
  file: string;
  binary: string | undefined;
  /** Whether the proxy has health checks, and so stops using gateways that drain. */
  looks: boolean;
  /**
   * Replaces addresses and paths in the configuration. `folder` contains the certificate and is used only by this
   * proxy.
   */
  place(text: string, at: { port: number; folder: string }): string;
  args(file: string, folder: string): string[];
}

const KINDS: Record<string, ProxyKind> = {
  nginx: {
    file: "nginx.conf",
    binary: onPath("nginx"),
    looks: false,
    place: (text, { port, folder }) =>
      replaceOnce(replaceOnce(text, "listen 443 ssl;", `listen 127.0.0.1:${port} ssl;`), "http {", temporary(folder)),
    args: (file, folder) => ["-e", "stderr", "-c", file, "-g", `daemon off; pid ${folder}/nginx.pid;`],
  },
  HAProxy: {
    file: "haproxy.cfg",
    binary: onPath("haproxy"),
    looks: true,
    place: (text, { port }) =>
      replaceOnce(
        replaceOnce(text, "bind :443 ", `bind 127.0.0.1:${port} `),
        "timeout check 2s",
        `timeout check ${CHECK_S_MAX}s`,
      ),
    args: (file) => ["-db", "-f", file],
  },
  Caddy: {
    file: "Caddyfile",
    binary: findPythonTool("caddy" satisfies PythonTool),
    looks: true,
    // Caddy would request a public certificate for a host name, so it gets an IP address.
    place: (given, { port, folder }) => {
      const text = replaceOnce(given, "health_timeout 2s", `health_timeout ${CHECK_S_MAX}s`);
      // HTTP/3 is off: its UDP port is already in use, because `freePort` holds it to reserve the TCP port of that
      // number.
      return `{\n\tadmin off\n\tservers {\n\t\tprotocols h1 h2\n\t}\n}\n${replaceOnce(text, "gate.example {", `https://127.0.0.1:${port} {\n\ttls ${folder}/tls.crt ${folder}/tls.key\n`)}`;
    },
    args: (file) => ["run", "--config", file, "--adapter", "caddyfile"],
  },
  Envoy: {
    file: "envoy.yaml",
    binary: findPythonTool("envoy" satisfies PythonTool),
    looks: true,
    place: (text, { port }) =>
      replaceOnce(
        replaceOnce(text, "address: 0.0.0.0, port_value: 443", `address: 127.0.0.1, port_value: ${port}`),
        "- timeout: 2s",
        `- timeout: ${CHECK_S_MAX}s`,
      ),
    args: (file) => ["-c", file, "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"],
  },
};

export const PROXIES: string[] = Object.keys(KINDS);

/** Returns why the proxy cannot run on this machine; false if it can. */
export const explainMissingProxy = (name: string): string | false =>
  kindOf(name).binary === undefined && `${name} is not installed: npm test installs it where it can`;

export interface RunningProxy {
  name: string;
  port: number;
  looks: boolean;
  close(): Promise<void>;
}

export async function startProxy(
  name: string,
  upstream: Upstream,
  { cert, key, place }: { cert: string; key: string; place: string },
): Promise<RunningProxy> {
  const kind = kindOf(name);
  const folder = join(place, name);
  await mkdir(folder);
  for (const [file, text] of Object.entries({ "tls.crt": cert, "tls.key": key, "tls.pem": cert + key })) {
    await writeFile(join(folder, file), text);
  }
  const port = await findFreePort();
  const given = await readFile(new URL(`../../deploy/proxies/${kind.file}`, import.meta.url), "utf8");
  const file = join(folder, kind.file);
  await writeFile(
    file,
    withUpstream(kind.place(given, { port, folder }), upstream).replaceAll("/etc/tollgate/tls", folder),
  );
  const env = { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(kind.binary as string, kind.args(file, folder), { stdio: ["ignore", "ignore", "pipe"], env });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4_000);
  });
  await untilListening(child, port, () => `${name} did not start:\n${said}`);
  return {
    name,
    port,
    looks: kind.looks,
    async close() {
      const ended = once(child, "exit");
      // Uses signals after which nginx and HAProxy do not wait for open connections.
      child.kill(name === "nginx" ? "SIGTERM" : "SIGKILL");
      await ended;
    },
  };
}

const withUpstream = (text: string, { port, internalPort }: Upstream): string =>
  text
    .replace(/gateway-1:8080/g, `${GATEWAY_ADDRESSES[0]}:${port}`)
    .replace(/gateway-2:8080/g, `${GATEWAY_ADDRESSES[1]}:${port}`)
    .replace(/address: gateway-1, port_value: 8080/, `address: ${GATEWAY_ADDRESSES[0]}, port_value: ${port}`)
    .replace(/address: gateway-2, port_value: 8080/, `address: ${GATEWAY_ADDRESSES[1]}, port_value: ${port}`)
    .replace(/\b9090\b/g, String(internalPort));

/** Replaces text that must occur in a file exactly once. */
function replaceOnce(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`the file does not say ${JSON.stringify(from)} just once`);
  return text.replace(from, () => to);
}

/** nginx creates these folders even if it does not need them. Only root may create the default ones. */
const temporary = (folder: string): string =>
  `http {\n${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `  ${name}_temp_path ${folder}/${name};`).join("\n")}\n`;

async function untilListening(child: ChildProcess, port: number, why: () => string): Promise<void> {
  const isOpen = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect({ host: "127.0.0.1", port });
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
  await eventually("the proxy listens", async () => {
    if (child.exitCode !== null || child.signalCode !== null) {
      // Waits until the proxy's last output is read.
      if (child.stderr?.readableEnded === false) await once(child.stderr, "close");
      throw new Error(`${why()} (exit code ${child.exitCode}, signal ${child.signalCode})`);
    }
    return await isOpen();
  });
}

function kindOf(name: string): ProxyKind {
  const kind = KINDS[name];
  if (kind === undefined) throw new Error(`there is no proxy ${name}`);
  return kind;
}

function onPath(name: string): string | undefined {
  const places = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];
  return places
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
