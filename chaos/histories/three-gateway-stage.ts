/**
 * The platform of a history: one PostgreSQL, one NATS server, three gateways and two agents, each a process that can be
 * killed and frozen. There is no standby and no load balancer: every call chooses its gateway, and the platform has to
 * survive every crash.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openNats } from "@tollgate/stage/dispatch-planes.ts";
import { REPOSITORY_ROOT } from "@tollgate/stage/gateway-process.ts";
import { createServerDirectory, DATABASE, startEmptyCluster } from "@tollgate/stage/servers/postgres.ts";
import type { PostgresServer } from "@tollgate/stage/servers/postgres-server.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { writeCatalogue } from "@tollgate/stage/write-catalogue.ts";
import { createAdminRunner, type RunAdmin } from "../stage/admin-commands.ts";
import { type Gateway, makeGateways, waitUntilServing } from "../stage/chaos-gateways.ts";
import { createNodeAgents } from "../stage/node-agents.ts";

const GATEWAYS = 3;
const AGENTS = 2;
const SLOTS = 24;
export const MODEL = "tiny-3b";
export const WEBHOOK_SECRET = "whsec_histories";

/**
 * A table for the IDs of requests that were settled after their leases had expired, because their records do not show
 * that.
 */
export const LATE_SETTLEMENTS_TABLE = "history.settled_late";
const NOTE_LATE = `
  create schema history;
  create table ${LATE_SETTLEMENTS_TABLE} (id uuid);
  create function history.note() returns trigger language plpgsql security definer as $$
    begin insert into ${LATE_SETTLEMENTS_TABLE} values (new.id); return null; end $$;
  create trigger note_late after update on request for each row
    when (old.outcome = 'gateway_lost' and new.outcome <> 'gateway_lost') execute function history.note();
  grant usage on schema history to public`;

export interface ThreeGatewayStage {
  postgres: PostgresServer;
  gateways: Gateway[];
  admin: RunAdmin;
  /** Queries the gateways' database as its superuser. */
  query: <Row extends object>(sql: string, values?: unknown[]) => Promise<Row[]>;
  /** The directory of all logs. */
  directory: string;
  version: string;
  startAgents(hostToken: string): Promise<void>;
  /** Ends all processes. `keep` keeps the logs. */
  close(options: { keep: boolean }): Promise<void>;
}

interface StageOptions {
  major: number;
  holdLeaseS: number;
  /** Settings of the PostgreSQL server, applied with `alter system`. */
  server: Record<string, string>;
  /** Further environment variables of the gateways. */
  gateways: Record<string, string>;
  /** PostgreSQL's `options` for the gateways' database connections, such as `-c synchronous_commit=off`. */
  connections: string | undefined;
}

export async function openStage(options: StageOptions): Promise<ThreeGatewayStage> {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-history-"));
  const place = await createServerDirectory({ major: options.major, diskMb: 1024 });
  const postgres = await place.make("postgres");
  const url = (await startEmptyCluster(postgres))(postgres.port);
  await postgres.set(options.server);
  const nats = await openNats();
  const query: ThreeGatewayStage["query"] = (sql, values) => postgres.query(sql, values, { database: DATABASE });
  const settings = {
    ...nats.env,
    DATABASE_URL: options.connections === undefined ? url : `${url}?options=${encodeURIComponent(options.connections)}`,
    KEY_PEPPER: randomBytes(32).toString("hex"),
    RECEIPT_SEED: randomBytes(32).toString("base64url"),
    // No canaries, because the scripted engine cannot answer them.
    CATALOGUE_FILE: await writeCatalogue(directory, { [MODEL]: { canaries: [] } }),
    PROBATION_ANSWERS: "0",
    AUTO_QUARANTINE: "false",
    HOLD_LEASE_S: String(options.holdLeaseS),
    DRAIN_DELAY_S: "0",
    STRIPE_SECRET_KEY: "sk_test_histories",
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    // An address at which nothing listens, because gateways must send no requests to the payment provider. The test run
    // itself sends them the provider's events.
    STRIPE_API_BASE: "http://127.0.0.1:9",
    ...options.gateways,
  };
  const wanted = { directory, root: REPOSITORY_ROOT, settings, clock: undefined, cuts: false, needed: [] };
  const { gateways } = await makeGateways(GATEWAYS, wanted);
  const [first, ...others] = gateways as [Gateway, ...Gateway[]];
  await waitUntilServing(first);
  await Promise.all(others.map(waitUntilServing));
  await query(NOTE_LATE);
  let agents: Awaited<ReturnType<typeof createNodeAgents>>["agents"] = [];
  const [row] = await query<{ version: string }>("select current_setting('server_version') as version");
  return {
    ...{ postgres, gateways, query, directory },
    admin: createAdminRunner(settings, () => REPOSITORY_ROOT),
    version: row?.version ?? "",
    async startAgents(hostToken) {
      const gatewayUrl = `http://127.0.0.1:${first.port}`;
      const what = {
        gatewayUrl,
        hostToken,
        models: [MODEL],
        slots: SLOTS,
        authority: undefined,
        cuts: false,
        needed: [],
      };
      ({ agents } = await createNodeAgents(AGENTS, { directory, ...what }));
      await Promise.all(agents.map((agent) => agent.start()));
      await eventually("every agent is online", async () => (await online(gatewayUrl, hostToken)) === AGENTS);
    },
    async close({ keep }) {
      await Promise.all(
        [...agents, ...gateways].map((part) => {
          part.thaw();
          return part.end();
        }),
      );
      await nats.close();
      await place.remove(postgres);
      if (!keep) await rm(directory, { recursive: true, force: true });
    },
  };
}

async function online(baseUrl: string, hostToken: string): Promise<number> {
  const response = await fetch(`${baseUrl}/node/v1/nodes`, { headers: { authorization: `Bearer ${hostToken}` } });
  const { data = [] } = (await response.json()) as { data?: { state: string }[] };
  return data.filter(({ state }) => state === "online").length;
}
