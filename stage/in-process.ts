/**
 * A platform in the test's own process: a gateway with the program's own ports (test database, embedded hub, limits in memory) and
 * agents with the scripted engine, all on one clock that the test moves. No deadline of the product passes because the machine is
 * slow; README.md says what needs the clock to be moved.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cheapHash } from "../gateway/src/accounts/testing/cheap-hash.ts";
import type { Stop } from "../gateway/src/assemble/context.ts";
import type { Listener, Ports } from "../gateway/src/assemble/ports.ts";
import { testStore } from "../gateway/src/assemble/testing.ts";
import { assemble, type ServedGateway } from "../gateway/src/assemble.ts";
import { newIds, publicId, suffixOf, type Uuid } from "../gateway/src/base/ids.ts";
import { createLog, type Log } from "../gateway/src/base/log.ts";
import { dollars, type Pico } from "../gateway/src/base/money.ts";
import { systemRandom } from "../gateway/src/base/random.ts";
import { type ManualClock, manualClock } from "../gateway/src/base/testing.ts";
import { noTracing } from "../gateway/src/base/tracing.ts";
import { openModels } from "../gateway/src/build/catalogue.ts";
import { limitsOf } from "../gateway/src/build/limits.ts";
import { openListener } from "../gateway/src/build/listener.ts";
import { openPlane } from "../gateway/src/build/plane.ts";
import { settingsOf } from "../gateway/src/build/settings.ts";
import { parseConfig } from "../gateway/src/config.ts";
import { openTestDatabase, type TestDatabase } from "../gateway/src/db/testing.ts";
import { serverSecrets } from "../gateway/src/server-secrets.ts";
import { Agent } from "../host/src/agent/agent.ts";
import { dialNats } from "../host/src/agent/nats.ts";
import { scriptedEngine } from "../host/src/engines/scripted.ts";
import { WireFaults } from "../host/src/engines/wire-faults.ts";

/** Longer than an agent ever waits before it dials again. */
const DIAL_AGAIN_MS = 5_000;

export interface InProcessPlatform {
  clock: ManualClock;
  gateway: ServedGateway;
  database: TestDatabase;
  /** Of the public API. */
  baseUrl: string;
  /** What the gateway and its agents logged, parsed; warnings and errors alone. */
  logged: Record<string, unknown>[];
  /** A builder account with this much credit and a key of its own. */
  builder(credit?: Pico): Promise<{ accountId: Uuid; key: string }>;
  /** An agent of a host of its own. Resolves once its node takes requests. */
  node(models: string[]): Promise<InProcessNode>;
  /** Stops the agents and closes the gateway; nothing is left running. */
  close(): Promise<void>;
}

interface InProcessNode {
  /** `node_…` */
  id: string;
  stop(): Promise<void>;
}

/** `env`: settings of the gateway, beside those that place it in this process. */
export async function startInProcess(env: Record<string, string> = {}): Promise<InProcessPlatform> {
  // Beginning with the database's own time: leases are kept there.
  const clock = manualClock(Date.now());
  const logged: Record<string, unknown>[] = [];
  const log = createLog("warn", { write: (line: string) => void logged.push(JSON.parse(line)) });
  const database = await openTestDatabase();
  const { ports, settings } = await openPorts({ clock, log, database, env });
  const gateway = await assemble(ports, settings);
  const nodes = new Set<InProcessNode>();
  return {
    clock,
    gateway,
    database,
    baseUrl: `http://127.0.0.1:${gateway.port}`,
    logged,
    async builder(credit = dollars(5)) {
      const { accounts, ledger, apiKeys, newId } = gateway;
      const accountId = await accounts.open("builder", "A builder");
      await ledger.transfer({ id: newId(), kind: "grant", accountId, amount: credit, reason: "a test" });
      return { accountId, key: (await apiKeys.issue(accountId, "key")).token };
    },
    async node(models) {
      const node = await startNode({ gateway, clock, log }, models);
      nodes.add(node);
      return node;
    },
    async close() {
      for (const node of nodes) await node.stop();
      await gateway.close();
    },
  };
}

interface Surroundings {
  clock: ManualClock;
  log: Log;
  database: TestDatabase;
  env: Record<string, string>;
}

/** The program's own adapters, but for the store: nobody judges how soon the test database answers. */
async function openPorts({ clock, log, database, env }: Surroundings) {
  const directory = await mkdtemp(join(tmpdir(), "tollgate-stage-"));
  const config = parseConfig({
    PORT: "0",
    INTERNAL_PORT: "0",
    PLANE_PORT: "0",
    DATA_DIR: directory,
    // The scripted engine knows no answer to a canary, and on a clock that stands still it is faster than its model can be.
    AUTO_QUARANTINE: "false",
    ...env,
  });
  const random = systemRandom();
  const newId = newIds(clock, random);
  const gatewayId = suffixOf(newId());
  const stops: Stop[] = [() => rm(directory, { recursive: true }), () => database.close()];
  const onClose = (stop: Stop): void => void stops.push(stop);
  const progress = (): void => {};
  const onLost = (error: Error): void => log.error({ err: error }, "the gateway cannot go on");
  const context = { config, log, clock, random, newId, gatewayId, onClose, progress, onLost };
  const store = testStore(database);
  const secrets = await serverSecrets(config);
  const ports: Ports & { listener: Listener } = {
    clock,
    random,
    newId,
    gatewayId,
    log,
    tracing: noTracing,
    store,
    models: await openModels(context, store),
    plane: await openPlane(context, secrets),
    deployment: Promise.resolve("stage"),
    limits: limitsOf(context),
    spool: { directory: config.spoolDir },
    mail: undefined,
    payments: undefined,
    listener: await openListener(context),
    async close() {
      for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) await stop();
    },
  };
  const settings = settingsOf({ config, secrets, secretCanaries: new Map() });
  return { ports, settings: { ...settings, passwordHash: cheapHash, drain: { delayMs: 0, graceMs: 1_000 } } };
}

async function startNode(
  { gateway, clock, log }: Pick<InProcessPlatform, "gateway" | "clock"> & { log: Log },
  models: string[],
): Promise<InProcessNode> {
  const { accounts, fleet, parts, newId } = gateway;
  const host = await accounts.open("host", "A host");
  const { id } = await fleet.register(host, { name: `node-${newId()}`, hardware: {}, agent: "stage" });
  await fleet.elect(host, id, models);
  const node = publicId("node", id);
  const { mint } = parts;
  if (mint === undefined) throw new Error("the gateway has no dispatch plane");
  const faults = new WireFaults();
  const agent = new Agent({
    node,
    version: "tollgate-host/stage",
    engine: scriptedEngine({ models, clock, faults }),
    models,
    credentials: () => mint(node),
    dial: faults.decorate(dialNats),
    clock,
    log,
    status({ type }) {
      // The NATS client's own patience is real time. What it gave up is dialled again when the clock moves.
      if (type !== "online") clock.soon(() => clock.advance(DIAL_AGAIN_MS));
    },
  });
  agent.start();
  await gateway.nodeOnline(node);
  return { id: node, stop: () => agent.stop() };
}
