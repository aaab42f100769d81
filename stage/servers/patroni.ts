/**
 * Runs PostgreSQL under Patroni: etcd, several members, and HAProxy in front of them, configured by the files in
 * deploy/patroni. Only addresses, directories and Patroni's timeouts, which are shorter here, differ. Each member
 * replicates through a proxy of its own, which can hold data back, so that a standby falls behind without noticing.
 */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { choosePostgresUser, spawnOptions } from "../../gateway/src/db/private-postgres/os-user.ts";
import { createAuthority } from "../../gateway/src/plane/credentials/x509.ts";
import { isOnPath } from "../../tools/install-test-servers.ts";
import { buildPythonEnvironment, findPythonTool } from "../../tools/python-tools.ts";
import { createProcess, findFreePort, killTree, type Process } from "../killable-process.ts";
import { eventually } from "../wait.ts";
import { openSwitchableProxy, type SwitchableProxy } from "./switchable-proxy.ts";

const DEPLOY = fileURLToPath(new URL("../../deploy/patroni/", import.meta.url));
const BINARIES = { etcd: "/usr/bin/etcd", haproxy: "/usr/sbin/haproxy" };
/** Debian's Python interpreter, because Debian's packages contain everything that Patroni needs. */
const PYTHON = "/usr/bin/python3";
const DATABASE = "tollgate";
/** Patroni's timeouts in seconds. It requires ttl >= loop_wait + 2 * retry_timeout. */
const PATIENCE = { ttl: 8, loop_wait: 1, retry_timeout: 3 };

/** How far a standby may be behind and still count as following: under load, some data is always in transit. */
const LAG_BYTES_MAX = 1024 * 1024;

/** How gateways connect: through HAProxy, or directly to the members with `target_session_attrs=read-write`. */
export type DatabaseConnectionMode = "haproxy" | "hosts";

const MEMBER_COUNT = 3;

interface ClusterOptions {
  synchronous: boolean;
  entrance: DatabaseConnectionMode;
  /** The folder of PostgreSQL's programs; default: Debian's version 15. */
  programs?: string;
}

interface Member {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  readonly front: SwitchableProxy;
  readonly patroni: Process;
  /** Kills all processes of PostgreSQL with SIGKILL; Patroni continues. */
  killPostgres(): Promise<void>;
}

export interface PatroniCluster {
  /** The database URL for gateways, with the owner of an empty database as its user. */
  readonly url: string;
  readonly ports: number[];
  readonly members: readonly Member[];
  readonly versions: Record<string, string>;
  /** Queries the gateways' database on the primary, as superuser. */
  query<Row extends object>(sql: string, values?: unknown[]): Promise<Row[]>;
  primary(): Promise<Member>;
  /** Resolves with the new primary when a member other than this one is primary and a third member follows it. */
  replaced(member: Member): Promise<Member>;
  /** Runs `patronictl switchover`: the primary hands over to a standby and then follows the new primary. */
  switchover(): Promise<void>;
  /**
   * Resolves when every member runs and all standbys follow the primary on its timeline, one of them synchronously if
   * that is required.
   */
  whole(): Promise<void>;
  logs(): Promise<Record<string, string>>;
  close(): Promise<void>;
}

interface MemberState {
  name: string;
  role: string;
  state: string;
  timeline?: number;
  lag?: number | string;
}

/** Returns why Patroni cannot run here; undefined if it can. */
export function explainMissingPatroni(): string | undefined {
  const missing = Object.values(BINARIES).filter((binary) => !isOnPath(binary));
  if (findPythonTool("patroni") === undefined) missing.push("patroni");
  return missing.length === 0 ? undefined : `${missing.join(", ")}: not installed`;
}

export async function startPatroni(options: ClusterOptions): Promise<PatroniCluster> {
  const { synchronous, entrance, programs = "/usr/lib/postgresql/15/bin" } = options;
  const patroniCommand = [PYTHON, findPythonTool("patroni") as string];
  const runAs = await choosePostgresUser();
  const directory = await mkdtemp("/tmp/tollgate-patroni-");
  if (runAs) await chown(directory, runAs.uid, runAs.gid);
  const password = (): string => randomBytes(16).toString("hex");
  const passwords = { superuser: password(), replication: password(), owner: password() };
  await writeCertificates(directory, runAs);
  const config = join(directory, "patroni.yml");
  await writeFile(config, await patroniConfig(directory, synchronous));
  const etcd = await newEtcd(directory, runAs);
  await etcd.process.start();

  const newMember = async (name: string): Promise<Member> => {
    const [port, restPort] = [await findFreePort(), await findFreePort()];
    const front = await openSwitchableProxy({ port });
    const data = join(directory, name);
    const sockets = join(directory, `${name}.socket`);
    await mkdir(sockets, { mode: 0o700 });
    if (runAs) await chown(sockets, runAs.uid, runAs.gid);
    const patroni = createProcess({
      name,
      command: [...patroniCommand, config],
      log: join(directory, `${name}.log`),
      directory,
      user: runAs,
      // Ends Patroni with SIGTERM, so that it stops its PostgreSQL.
      lastSignal: "TERM",
      environment: {
        ...spawnOptions(runAs).env,
        ...buildPythonEnvironment("patroni"),
        PATRONI_NAME: name,
        PATRONI_ETCD3_HOSTS: `127.0.0.1:${etcd.port}`,
        PATRONI_RESTAPI_LISTEN: `127.0.0.1:${restPort}`,
        PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${restPort}`,
        PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${port}`,
        PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${front.port}`,
        PATRONI_POSTGRESQL_DATA_DIR: data,
        PATRONI_POSTGRESQL_BIN_DIR: programs,
        PATRONI_POSTGRESQL_PGPASS: join(directory, `${name}.pgpass`),
        PATRONI_SUPERUSER_USERNAME: "postgres",
        PATRONI_SUPERUSER_PASSWORD: passwords.superuser,
        PATRONI_REPLICATION_USERNAME: "replicator",
        PATRONI_REPLICATION_PASSWORD: passwords.replication,
      },
    });
    return {
      ...{ name, port, restPort, front, patroni },
      async killPostgres() {
        const [pid] = (await readFile(join(data, "postmaster.pid"), "utf8")).split("\n", 1);
        killTree(Number(pid));
      },
    };
  };
  const members: Member[] = [];
  for (let i = 1; i <= MEMBER_COUNT; i++) members.push(await newMember(`pg-${i}`));

  /** Returns the cluster's state, as reported by the first member that answers. */
  const states = async (): Promise<MemberState[]> => {
    for (const { restPort } of members) {
      const answer = await fetch(`http://127.0.0.1:${restPort}/cluster`).catch(() => undefined);
      if (answer?.ok) return ((await answer.json()) as { members: MemberState[] }).members;
    }
    return [];
  };
  const isPrimary = async ({ restPort }: Member): Promise<boolean> =>
    (await fetch(`http://127.0.0.1:${restPort}/primary`).catch(() => undefined))?.status === 200;
  const primaryBut = (other?: Member): Promise<Member> =>
    eventually("a member is the primary", async () => {
      for (const member of members) if (member !== other && (await isPrimary(member))) return member;
      return undefined;
    });
  const connect = async <T>(database: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const { port } = await primaryBut();
    const [user, ssl] = ["postgres", { rejectUnauthorized: false }];
    const client = new pg.Client({ host: "127.0.0.1", port, user, password: passwords.superuser, database, ssl });
    client.on("error", () => {});
    try {
      await client.connect();
      return await work(client);
    } finally {
      void client.end().catch(() => {});
    }
  };
  const query: PatroniCluster["query"] = (sql, values) =>
    connect(DATABASE, async (client) => (await client.query(sql, values)).rows);
  const whole = async (): Promise<void> => {
    await eventually("every member follows the primary", async () => {
      const all = await states();
      const leader = all.find(({ role }) => role === "leader" || role === "master" || role === "primary");
      if (leader === undefined || all.length < MEMBER_COUNT) return false;
      const others = all.filter((one) => one !== leader);
      const follows = ({ state, timeline, lag }: MemberState): boolean =>
        ["running", "streaming"].includes(state) && timeline === leader.timeline && Number(lag) < LAG_BYTES_MAX;
      const isSynchronous = others.some(({ role }) => role === "sync_standby" || role === "quorum_standby");
      return others.every(follows) && (!synchronous || isSynchronous);
    });
  };

  const [first, ...others] = members as [Member, ...Member[]];
  await first.patroni.start();
  await primaryBut();
  await Promise.all(others.map(({ patroni }) => patroni.start()));
  await whole();
  await connect("postgres", async (client) => {
    await client.query(`create role tollgate login password '${passwords.owner}'`);
    await client.query(`create database ${DATABASE} owner tollgate`);
  });
  const haproxy = await newHaproxy(directory, members);
  if (entrance === "haproxy") await haproxy.process.start();
  const hosts = entrance === "haproxy" ? [haproxy.port] : members.map(({ port }) => port);
  const tls = `sslmode=verify-full&sslrootcert=${encodeURIComponent(join(directory, "ca.pem"))}`;
  const target = entrance === "hosts" ? "&target_session_attrs=read-write" : "";
  const [row] = await query<{ v: string }>("select current_setting('server_version') as v");
  const patroniVersion = spawnSync(PYTHON, [...patroniCommand.slice(1), "--version"], {
    encoding: "utf8",
    env: { ...process.env, ...buildPythonEnvironment("patroni") },
  }).stdout.trim();

  return {
    url: `postgres://tollgate:${passwords.owner}@${hosts.map((port) => `127.0.0.1:${port}`).join(",")}/${DATABASE}?${tls}${target}`,
    ports: hosts,
    members,
    versions: { postgres: row?.v ?? "", patroni: patroniVersion.replace(/^patroni /, "") },
    query,
    primary: () => primaryBut(),
    async replaced(member) {
      const primary = await primaryBut(member);
      await eventually("a standby follows the new primary", async () => {
        // Checks PostgreSQL's own current state, because Patroni's report about the cluster is older.
        const answer = await fetch(`http://127.0.0.1:${primary.restPort}/patroni`).catch(() => undefined);
        if (answer === undefined) return false;
        const { replication = [] } = (await answer.json()) as { replication?: { state: string }[] };
        return replication.some(({ state }) => state === "streaming");
      });
      return primary;
    },
    async switchover() {
      const old = await primaryBut();
      await eventually("Patroni switches over", async () => {
        const body = JSON.stringify({ leader: old.name });
        const headers = { "content-type": "application/json" };
        const answer = await fetch(`http://127.0.0.1:${old.restPort}/switchover`, { method: "POST", headers, body });
        // Repeats a refused request: shortly after a failover, Patroni has no candidate for the next one.
        return answer.status === 200;
      });
      await primaryBut(old);
    },
    whole,
    async logs() {
      const entries = members.map(async ({ name, patroni }) => [name, await patroni.log()] as const);
      return Object.fromEntries(await Promise.all(entries));
    },
    async close() {
      await haproxy.process.kill();
      for (const { patroni, killPostgres } of members) {
        patroni.cont();
        await patroni.kill();
        // Ignores the error: a member that has ended has no pid file any more.
        await killPostgres().catch(() => undefined);
      }
      await etcd.process.kill();
      await Promise.all(members.map(({ front }) => front.close()));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

type RunAs = Awaited<ReturnType<typeof choosePostgresUser>>;

/** Creates a private certificate authority, and one certificate with the address that all members use. */
async function writeCertificates(directory: string, runAs: RunAs): Promise<void> {
  const authority = createAuthority({ name: "patroni", nowMs: Date.now() });
  const { cert, key } = authority.issue("postgres", ["127.0.0.1"]);
  for (const [name, text] of Object.entries({ "ca.pem": authority.cert, "server.pem": cert, "server.key": key })) {
    await writeFile(join(directory, name), text, { mode: name.endsWith(".key") ? 0o600 : 0o644 });
    if (runAs) await chown(join(directory, name), runAs.uid, runAs.gid);
  }
}

async function patroniConfig(directory: string, synchronous: boolean): Promise<string> {
  let text = await readFile(join(DEPLOY, "patroni.yml"), "utf8");
  const changes: [RegExp, string][] = [
    ...Object.entries(PATIENCE).map(([name, value]): [RegExp, string] => [
      new RegExp(`^( *${name}:) .*$`, "m"),
      `$1 ${value}`,
    ]),
    [/^( *synchronous_mode:) .*$/m, `$1 ${synchronous}`],
    // Without synchronous replication, a standby may take over however far behind it is, because the test is about lost
    // commits.
    ...(synchronous
      ? []
      : [[/^( *)(primary_start_timeout)/m, "$1maximum_lag_on_failover: 1073741824\n$1$2"] as [RegExp, string]]),
    [/unix_socket_directories: .*/, `unix_socket_directories: ${directory}`],
    [/\/etc\/tollgate\/postgres\/server/g, join(directory, "server")],
  ];
  for (const [pattern, by] of changes) {
    if (!pattern.test(text)) throw new Error(`deploy/patroni/patroni.yml has no ${pattern}`);
    text = text.replace(pattern, by);
  }
  return text;
}

async function newEtcd(directory: string, runAs: RunAs): Promise<{ port: number; process: Process }> {
  const [port, peerPort] = [await findFreePort(), await findFreePort()];
  const [url, peerUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  const ready = async (): Promise<boolean> => (await fetch(`${url}/health`).catch(() => undefined))?.status === 200;
  const command = [
    ...[BINARIES.etcd, "--name", "etcd-1", "--data-dir", join(directory, "etcd")],
    ...["--listen-client-urls", url, "--advertise-client-urls", url],
    ...["--listen-peer-urls", peerUrl, "--initial-advertise-peer-urls", peerUrl],
    ...["--initial-cluster", `etcd-1=${peerUrl}`],
  ];
  const log = join(directory, "etcd.log");
  const environment = spawnOptions(runAs).env;
  return { port, process: createProcess({ name: "etcd", command, log, user: runAs, environment, ready }) };
}

async function newHaproxy(directory: string, members: Member[]): Promise<{ port: number; process: Process }> {
  const port = await findFreePort();
  let text = (await readFile(join(DEPLOY, "haproxy.cfg"), "utf8")).replace(
    "bind 127.0.0.1:5432",
    `bind 127.0.0.1:${port}`,
  );
  for (const [i, { name, port: at, restPort }] of members.entries())
    text = text.replace(`server pg-${i + 1} pg-${i + 1}:5432`, `server ${name} 127.0.0.1:${at} port ${restPort}`);
  const path = join(directory, "haproxy.cfg");
  await writeFile(path, text);
  const command = [BINARIES.haproxy, "-db", "-f", path];
  return { port, process: createProcess({ name: "haproxy", command, log: join(directory, "haproxy.log") }) };
}
