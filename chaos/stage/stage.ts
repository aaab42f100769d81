/**
 * The stage of a run: PostgreSQL with a standby, three NATS servers, Valkey or Redis, two gateways behind a balancer that
 * follows `/readyz`, and four agents with the scripted engine. Everything is real, of this machine, and ends with the harness.
 */
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Balancer, startBalancer } from "../../e2e/balancer.ts";
import { writeCatalogue } from "../../e2e/fixtures.ts";
import type { Customers } from "../load/load.ts";
import { type Nats, startNats } from "../parts/nats.ts";
import { type Postgres, startPostgres } from "../parts/postgres.ts";
import { until } from "../parts/processes.ts";
import { startValkey, type Valkey } from "../parts/valkey.ts";
import { type Admin, adminOf } from "./admin.ts";
import { newAgent } from "./agent.ts";
import { openAccounts, signIn } from "./customers.ts";
import { type Gateway, isReady, newGateway } from "./gateway.ts";
import type { Supervised } from "./supervised.ts";

export interface Stage {
  postgres: Postgres;
  nats: Nats;
  valkey: Valkey;
  gateways: Gateway[];
  agents: Supervised[];
  balancer: Balancer;
  admin: Admin;
  customers: Customers;
  /** Where every log is. */
  directory: string;
  holdLeaseS: number;
  /** The sources that the gateways run. */
  root: string;
  versions: Record<string, string>;
  /** Every gateway takes requests, every agent runs. */
  isWhole(): boolean;
  /** Ends everything. `keep`: the logs stay. */
  close(options: { keep: boolean }): Promise<void>;
}

interface StageOptions {
  postgres: number;
  nats: string;
  holdLeaseS: number;
  /** The sources that the gateways begin with. */
  root: string;
  say: (line: string) => void;
}

const GATEWAYS = 2;
const AGENTS = 4;
const SLOTS = 10;
const MODELS = ["tiny-3b", "small-7b-alt", "embed-m3"];

export async function openStage(options: StageOptions): Promise<Stage> {
  const { postgres: major, nats: release, holdLeaseS, root, say } = options;
  const directory = await mkdtemp(join(tmpdir(), "tollgate-chaos-"));
  await chmod(directory, 0o711);
  say(`logs: ${directory}`);
  const [postgres, nats, valkey] = await Promise.all([startPostgres({ major }), startNats({ release }), startValkey()]);
  const settings = {
    ...nats.environment,
    DATABASE_URL: postgres.url,
    VALKEY_URL: valkey.url,
    KEY_PEPPER: randomBytes(32).toString("hex"),
    RECEIPT_SEED: randomBytes(32).toString("base64url"),
    // The scripted engine answers no canary: what bars a node here are failures alone.
    CATALOGUE_FILE: await writeCatalogue(
      directory,
      Object.fromEntries(MODELS.map((model) => [model, { canaries: [] }])),
    ),
    PROBATION_ANSWERS: "0",
    HOLD_LEASE_S: String(holdLeaseS),
    DISPATCH_DEADLINE_MS: "5000",
    DRAIN_DELAY_S: "2",
    DRAIN_GRACE_S: "15",
  };
  const gateways = await Promise.all(
    Array.from({ length: GATEWAYS }, (_, i) => newGateway({ name: `gateway-${i + 1}`, directory, root, settings })),
  );
  const serving = async (gateway: Gateway): Promise<void> => {
    await gateway.start();
    await until(`${gateway.name} is ready`, 90_000, () => isReady(gateway));
  };
  // The first brings the database up to date; then there is somewhere to open accounts in.
  const [first, ...others] = gateways;
  await serving(first as Gateway);
  const [people] = await Promise.all([openAccounts(adminOf(settings, () => root)), ...others.map(serving)]);
  const balancer = await startBalancer({ gateways: () => gateways.filter(({ isTakenOut }) => !isTakenOut) });
  say("gateways serve");
  const { hostToken } = people;
  const agents = Array.from({ length: AGENTS }, (_, i) =>
    newAgent({ name: `agent-${i + 1}`, directory, gatewayUrl: balancer.url, hostToken, models: MODELS, slots: SLOTS }),
  );
  await Promise.all(agents.map((agent) => agent.start()));
  await until("every agent is online", 60_000, async () => (await onlineNodes(balancer.url, hostToken)) === AGENTS);
  say("agents serve");
  const customers = { ...people, port: balancer.port, operatorCookie: await signIn(balancer.url) };
  const stage: Stage = {
    ...{ postgres, nats, valkey, gateways, agents, balancer, customers, directory, holdLeaseS, root },
    admin: adminOf(settings, () => stage.root),
    versions: {
      postgres: String((await postgres.query<{ v: string }>("select current_setting('server_version') as v"))[0]?.v),
      nats: nats.version,
      valkey: valkey.version,
      node: process.versions.node,
    },
    isWhole: () => balancer.ready() === GATEWAYS && agents.every((agent) => agent.running()),
    async close({ keep }) {
      await balancer.close();
      for (const part of [...agents, ...gateways]) {
        part.thaw();
        await part.end();
      }
      await Promise.all([valkey.close(), nats.close(), postgres.close()]);
      if (!keep) await rm(directory, { recursive: true, force: true });
    },
  };
  return stage;
}

async function onlineNodes(baseUrl: string, hostToken: string): Promise<number> {
  const response = await fetch(`${baseUrl}/node/v1/nodes`, { headers: { authorization: `Bearer ${hostToken}` } });
  const { data = [] } = (await response.json()) as { data?: { state: string }[] };
  return data.filter(({ state }) => state === "online").length;
}
