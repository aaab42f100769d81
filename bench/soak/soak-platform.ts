/** Starts the platform of a soak: one gateway as a process of its own, with the private PostgreSQL and accounts. */
import { chmod, mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  HIGH_KEY_LIMITS,
  type HostAccount,
  makeKey,
  openBuilderAccount,
  openHostAccount,
} from "@tollgate/stage/builder-and-host-accounts.ts";
import type { ReadyFile } from "@tollgate/stage/dev-platform.ts";
import { findFreePort, type Process } from "@tollgate/stage/killable-process.ts";
import { createAgent } from "@tollgate/stage/nodes/start-agent.ts";
import { type Query, TEST_KEY_PEPPER } from "@tollgate/stage/stage-database.ts";
import pg from "pg";
import { dollars } from "../../gateway/src/base/money.ts";
import { readIfExists } from "../../gateway/src/base/read-if-exists.ts";
import { findPrivatePostgres } from "../../gateway/src/db/private-postgres.ts";
import { BenchProcess } from "../gateway/bench-process.ts";
import { gatewayCommand } from "../gateway/gateway-command.ts";

export const MODELS = ["tiny-3b", "small-7b-alt", "embed-m3"];
const BUILDERS = 5;
const CREDIT = dollars(100_000);
const AGENT_SLOTS = 64;
const POOR_CREDIT = 1n;

export interface PayingAccount {
  account: string;
  token: string;
}

export interface SoakPlatform {
  ready: ReadyFile;
  port: number;
  internalPort: number;
  dataDir: string;
  query: Query;
  builders: PayingAccount[];
  /** An account whose credit pays for no request. */
  poor: PayingAccount;
  host: HostAccount;
  close(): Promise<void>;
}

export async function openSoakPlatform(outDir: string, dataDir: string): Promise<SoakPlatform> {
  await mkdir(dataDir, { recursive: true });
  // If the bench runs as root, the database runs as another user, who needs permission to enter the directory.
  await chmod(dataDir, 0o711);
  const readyFile = join(outDir, "ready.json");
  const internalPort = await findFreePort();
  const { command, env } = gatewayCommand(resolve(fileURLToPath(new URL("../..", import.meta.url))));
  const gateway = new BenchProcess({
    name: "gateway",
    command: [...command, "dev", "--no-node", "--port", "0", "--data", dataDir, "--ready-file", readyFile],
    processors: null,
    outDir,
    env: { ...env, KEY_PEPPER: TEST_KEY_PEPPER, INTERNAL_PORT: String(internalPort), LOG_LEVEL: "info" },
  });
  const ready = await gateway.eventually(async () => {
    const text = await readIfExists(readyFile);
    return text === undefined ? undefined : (JSON.parse(text) as ReadyFile);
  });
  const pool = new pg.Pool({ ...(await findPrivatePostgres({ dataDir })), max: 2, application_name: "soak" });
  const query: Query = async (sql, values = []) => (await pool.query(sql, values)).rows;
  const own = await ownPayer(query, ready);
  const others = await Promise.all(Array.from({ length: BUILDERS - 1 }, () => openPayer(query, CREDIT)));
  return {
    ready,
    port: Number(new URL(ready.gateway_url).port),
    internalPort,
    dataDir,
    query,
    builders: [own, ...others],
    poor: await openPayer(query, POOR_CREDIT),
    host: await openHostAccount(query),
    async close() {
      await pool.end();
      await gateway.stop("SIGINT");
    },
  };
}

/** Returns the account of the person at the console, with more credit and without limits. */
async function ownPayer(query: Query, { api_key: token }: ReadyFile): Promise<PayingAccount> {
  const [row] = await query<{ account_id: string }>(
    `update api_key set in_flight_max = $1, requests_per_minute_max = $2, tokens_per_minute_max = $3, labels = true
     returning account_id`,
    [HIGH_KEY_LIMITS.inFlight, HIGH_KEY_LIMITS.requests, HIGH_KEY_LIMITS.tokens],
  );
  const account = row?.account_id as string;
  await query("select ledger_transfer(gen_random_uuid(), 'grant', $1, $2, 'soak')", [account, CREDIT.toString()]);
  return { account, token };
}

async function openPayer(query: Query, credit: bigint): Promise<PayingAccount> {
  const account = await openBuilderAccount(query, credit);
  const { token } = await makeKey(query, account, { ...HIGH_KEY_LIMITS, labels: true });
  return { account, token };
}

/** Creates an agent with the scripted engine, without starting it. */
export function createSoakAgent({ ready, host }: SoakPlatform, outDir: string, name: string): Process {
  return createAgent({
    name,
    gatewayUrl: ready.gateway_url,
    hostToken: host.token,
    models: MODELS,
    slots: AGENT_SLOTS,
    logFile: join(outDir, "agents.log"),
  });
}
