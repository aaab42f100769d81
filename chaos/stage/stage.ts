/**
 * The platform of a chaos run: PostgreSQL with a standby, three NATS servers, Valkey or Redis, two gateways behind a
 * load balancer that follows `/readyz`, and four agents with the scripted engine. All are real processes on this
 * machine, and end with the run.
 */

import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LoadTestAccounts } from "@tollgate/stage/load/load.ts";
import { type Balancer, startBalancer } from "@tollgate/stage/load-balancer.ts";
import { type FakeClock, openFakeClock } from "@tollgate/stage/servers/fake-clock.ts";
import { type Nats, startNats } from "@tollgate/stage/servers/nats.ts";
import { type Postgres, startPostgres } from "@tollgate/stage/servers/postgres.ts";
import { startValkey, type Valkey } from "@tollgate/stage/servers/valkey.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { writeCatalogue } from "@tollgate/stage/write-catalogue.ts";
import { createAdminRunner, type RunAdmin } from "./admin-commands.ts";
import { type Gateway, makeGateways, waitUntilServing } from "./chaos-gateways.ts";
import { createNodeAgents } from "./node-agents.ts";
import { chooseRequestPort } from "./request-port.ts";
import type { SeparateNetwork } from "./separate-network.ts";
import type { SupervisedProcess } from "./supervised-process.ts";
import { openAccounts, signIn } from "./test-accounts.ts";

/** A gateway counts as late if `/readyz` takes longer than this many milliseconds. */
const LOOK_LATE_MS = 1_000;

/** The parts that every run has, except the database, which differs between runs. */
export interface Platform {
  nats: Nats;
  valkey: Valkey;
  gateways: Gateway[];
  agents: SupervisedProcess[];
  /** The clock of the first gateway, if the run includes clock faults. */
  clock: FakeClock | undefined;
  /** The separate networks of the last gateway and the last agent, if the run includes network cuts. */
  apart: { gateway: SeparateNetwork; agent: SeparateNetwork } | undefined;
  balancer: Balancer;
  admin: RunAdmin;
  customers: LoadTestAccounts;
  /** The directory of all logs. */
  directory: string;
  holdLeaseS: number;
  /** The directory of the sources that the gateways run now. */
  root: string;
  versions: Record<string, string>;
  /** Returns true if every gateway accepts requests and every agent runs. */
  isWhole(): boolean;
  /** Ends all processes but the database. `keep` keeps the logs. */
  close(options: { keep: boolean }): Promise<void>;
}

export interface Stage extends Platform {
  postgres: Postgres;
}

/** The database of a platform, started by the caller. */
interface Database {
  /** The URL with which gateways connect. `ports`: the ports in this URL. */
  url: string;
  ports: number[];
  version: string;
}

interface PlatformOptions {
  nats: string;
  gateways?: number;
  holdLeaseS: number;
  /** The directory of the sources with which the gateways start. */
  root: string;
  /**
   * Whether the run needs a gateway whose clock can jump (`clocks`), or a gateway and an agent whose networks can be
   * cut (`cuts`).
   */
  clocks: boolean;
  cuts: boolean;
  /** Additional settings of every gateway. */
  settings?: Record<string, string>;
  say: (line: string) => void;
}

const GATEWAYS = 2;
const AGENTS = 4;
const SLOTS = 10;
const MODELS = ["tiny-3b", "small-7b-alt", "embed-m3"];

/** Opens a stage with a PostgreSQL of this major version and a standby. */
export async function openStage(options: PlatformOptions & { postgres: number }): Promise<Stage> {
  const postgres = await startPostgres({ major: options.postgres });
  const [row] = await postgres.query<{ v: string }>("select current_setting('server_version') as v");
  const { url, port } = postgres;
  const platform = await openPlatform(options, { url, ports: [port], version: row?.v ?? "" });
  const { close } = platform;
  return Object.assign(platform, {
    postgres,
    async close(how: { keep: boolean }) {
      await close(how);
      await postgres.close();
    },
  });
}

export async function openPlatform(options: PlatformOptions, database: Database): Promise<Platform> {
  const { holdLeaseS, root, say, gateways: count = GATEWAYS } = options;
  const directory = await mkdtemp(join(tmpdir(), "tollgate-chaos-"));
  await chmod(directory, 0o711);
  say(`logs: ${directory}`);
  const [nats, valkey] = await Promise.all([startNats({ release: options.nats }), startValkey()]);
  const own = await settingsFor({ nats, valkey }, { directory, holdLeaseS, databaseUrl: database.url });
  const settings = { ...own, ...options.settings };
  const natsPorts = portsIn(settings.NATS_URL ?? "");
  const clock = options.clocks ? await openFakeClock() : undefined;
  const needed = [...database.ports, ...portsIn(valkey.url), ...natsPorts];
  const place = { directory, root, settings, clock };
  const { gateways, apart: gatewayApart } = await makeGateways(count, { ...place, needed, cuts: options.cuts });
  // The first gateway migrates the database, so it starts before the others and before accounts are created.
  const [first, ...others] = gateways;
  await waitUntilServing(first as Gateway);
  const [people] = await Promise.all([
    openAccounts(createAdminRunner(settings, () => root)),
    ...others.map(waitUntilServing),
  ]);
  const balancer = await startBalancer({
    gateways: () => gateways.filter(({ isTakenOut }) => !isTakenOut),
    lateMs: LOOK_LATE_MS,
  });
  say("gateways serve");
  const { agents, apart: agentApart } = await createNodeAgents(AGENTS, {
    ...{ directory, cuts: options.cuts, needed: [balancer.port, ...natsPorts] },
    ...{ gatewayUrl: balancer.url, hostToken: people.hostToken, models: MODELS, slots: SLOTS },
    authority: nats.environment.NODE_EXTRA_CA_CERTS,
  });
  await Promise.all(agents.map((agent) => agent.start()));
  await eventually("every agent is online", async () => (await onlineNodes(balancer.url, people)) === AGENTS);
  say("agents serve");
  const stage: Platform = {
    ...{ nats, valkey, gateways, agents, clock, balancer, directory, holdLeaseS, root },
    apart: gatewayApart && agentApart && { gateway: gatewayApart, agent: agentApart },
    admin: createAdminRunner(settings, () => stage.root),
    customers: {
      ...people,
      operatorCookie: await signIn(balancer.url),
      port: (chance) => chooseRequestPort({ balancer, gateways }, chance),
    },
    versions: { postgres: database.version, nats: nats.version, valkey: valkey.version, node: process.versions.node },
    isWhole: () => balancer.ready() === count && agents.every((agent) => agent.running()),
    async close({ keep }) {
      await balancer.close();
      for (const part of [...agents, ...gateways]) {
        part.thaw();
        await part.end();
      }
      await Promise.all([valkey, nats, clock, gatewayApart, agentApart].map((part) => part?.close()));
      if (!keep) await rm(directory, { recursive: true, force: true });
    },
  };
  return stage;
}

/** Returns the settings of every gateway. */
async function settingsFor(
  { nats, valkey }: Pick<Platform, "nats" | "valkey">,
  { directory, holdLeaseS, databaseUrl }: Pick<Platform, "directory" | "holdLeaseS"> & { databaseUrl: string },
): Promise<Record<string, string>> {
  // The scripted engine cannot answer canaries, so nodes have none: only failures quarantine a node here.
  const withoutCanaries = Object.fromEntries(MODELS.map((model) => [model, { canaries: [] }]));
  return {
    ...nats.environment,
    DATABASE_URL: databaseUrl,
    VALKEY_URL: valkey.url,
    KEY_PEPPER: randomBytes(32).toString("hex"),
    RECEIPT_SEED: randomBytes(32).toString("base64url"),
    CATALOGUE_FILE: await writeCatalogue(directory, withoutCanaries),
    PROBATION_ANSWERS: "0",
    HOLD_LEASE_S: String(holdLeaseS),
    DISPATCH_DEADLINE_MS: "5000",
    DRAIN_DELAY_S: "2",
    DRAIN_GRACE_S: "15",
  };
}

/** Returns the ports in addresses such as `nats://127.0.0.1:4222,nats://127.0.0.1:4223`. */
const portsIn = (urls: string): number[] => [...urls.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port));

async function onlineNodes(baseUrl: string, { hostToken }: Pick<LoadTestAccounts, "hostToken">): Promise<number> {
  const response = await fetch(`${baseUrl}/node/v1/nodes`, { headers: { authorization: `Bearer ${hostToken}` } });
  const { data = [] } = (await response.json()) as { data?: { state: string }[] };
  return data.filter(({ state }) => state === "online").length;
}
