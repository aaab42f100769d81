/**
 * Installs the servers that some suites need, as root on Debian. On other machines those suites are skipped, and a line
 * names each of them.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

interface Server {
  /** A name to look up on the PATH, or a path. */
  binary: string;
  /** The name of the Debian package. */
  package: string;
  tests: string;
}

const SERVERS: Server[] = [
  { binary: "redis-server", package: "redis-server", tests: "limits on Valkey or Redis" },
  { binary: "nats-server", package: "nats-server", tests: "the dispatch plane on NATS" },
  { binary: "/usr/lib/postgresql/15/bin/postgres", package: "postgresql-15", tests: "the books on PostgreSQL 15" },
  { binary: "prometheus", package: "prometheus", tests: "alerts and dashboards on a real Prometheus" },
  { binary: "/usr/sbin/nginx", package: "nginx-light", tests: "nginx in front of the gateways" },
  { binary: "/usr/sbin/pgbouncer", package: "pgbouncer", tests: "the gateway behind pgbouncer" },
  { binary: "/usr/sbin/haproxy", package: "haproxy", tests: "HAProxy in front of the gateways" },
  { binary: "bwrap", package: "bubblewrap", tests: "the image's file trees, run as containers run them" },
  { binary: "chromium", package: "chromium", tests: "the console in a real browser" },
];

/** Servers that only `npm run failovers` needs. */
export const PATRONI_SERVERS: Server[] = [
  // Debian's package provides Patroni's dependencies; the tests run a newer Patroni than Debian 12's (python-tools.ts).
  { binary: "patroni", package: "patroni", tests: "failovers of PostgreSQL under Patroni" },
  { binary: "etcd", package: "etcd-server", tests: "failovers of PostgreSQL under Patroni" },
  { binary: "/usr/sbin/haproxy", package: "haproxy", tests: "failovers of PostgreSQL under Patroni" },
];

/** Installs missing servers if possible. Returns a line for each kind of test that cannot run here. */
export function ensureServers(servers = SERVERS): string[] {
  const missing = servers.filter(({ binary }) => !isOnPath(binary));
  if (missing.length > 0 && process.getuid?.() === 0 && isOnPath("apt-get")) {
    console.log(`  installing ${missing.map((server) => server.package).join(", ")} for the tests…`);
    install(missing.map((server) => server.package));
  }
  return servers
    .filter(({ binary }) => !isOnPath(binary))
    .map(({ binary, tests }) => `left out: ${tests} (${binary} is not installed)`);
}

function install(packages: string[]): void {
  // At run level 1 Debian starts no service after an install: the suites start servers of their own.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const apt = (...args: string[]) => spawnSync("apt-get", args, { stdio: ["ignore", "ignore", "inherit"], env });
  apt("update", "-qq");
  // Installs the packages one by one, so that an unknown package does not prevent the installation of the others.
  for (const name of packages) apt("install", "-y", "-qq", "--no-install-recommends", name);
}

export function isOnPath(binary: string): boolean {
  const places = isAbsolute(binary) ? [""] : (process.env["PATH"] ?? "").split(delimiter);
  return places.some((directory) => {
    try {
      accessSync(join(directory, binary), constants.X_OK);
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" || code === "EACCES" || code === "ENOTDIR") return false;
      throw error;
    }
  });
}
