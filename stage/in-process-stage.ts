import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSmtpMailSender } from "../gateway/src/accounts/mail-sender.ts";
import { cheapPasswordHash } from "../gateway/src/accounts/testing/cheap-password-hash.ts";
import type { CloseFunction } from "../gateway/src/assemble/assembly-context.ts";
import type { DatabaseAccess, ExternalInterfaces, Listener } from "../gateway/src/assemble/port-interfaces.ts";
import { createTestDatabaseAccess } from "../gateway/src/assemble/testing.ts";
import { assemble, type ListeningGateway } from "../gateway/src/assemble.ts";
import { newIds, publicIdSuffix } from "../gateway/src/base/ids.ts";
import { createLog, type Log } from "../gateway/src/base/log.ts";
import { systemRandom } from "../gateway/src/base/random.ts";
import { type ManualClock, manualClock } from "../gateway/src/base/testing.ts";
import { noTracing } from "../gateway/src/base/tracing.ts";
import { deriveSettingsFromConfig } from "../gateway/src/build/assembly-settings.ts";
import type { BuildContext } from "../gateway/src/build/build-context.ts";
import { openModelsAndTokenizers } from "../gateway/src/build/catalogue.ts";
import { openListener } from "../gateway/src/build/http-listener.ts";
import { createLimitsFactory } from "../gateway/src/build/limits-factory.ts";
import { openPlane } from "../gateway/src/build/open-plane.ts";
import { parseConfig } from "../gateway/src/config.ts";
import { openBroadcast } from "../gateway/src/db/broadcast.ts";
import { openPool } from "../gateway/src/db/pool.ts";
import { TEST_CONNECTION_TIMEOUT_MS, type TestDatabase } from "../gateway/src/db/testing.ts";
import { loadServerSecrets } from "../gateway/src/server-secrets.ts";
import { RecordedCanaries } from "../gateway/src/trust/testing.ts";
import { Agent } from "../host/src/agent/agent.ts";
import { connectToNats } from "../host/src/agent/connect-to-nats.ts";
import type { Engine } from "../host/src/engines/engine.ts";
import { FrameFaultInjector } from "../host/src/engines/frame-fault-injector.ts";
import { scriptedEngine } from "../host/src/engines/scripted-engine.ts";
import { type NodeTraits, Stage, type StageNode } from "./base-stage.ts";
import { enrolNode, fetchCredentials } from "./nodes/hand-made-node.ts";
import {
  NO_QUARANTINE_OR_PROBATION_ENV,
  openSharedServers,
  type SharedServerOptions,
  type SharedServers,
} from "./shared-servers.ts";

/**
 * How far to advance the clock when a connection is lost: more than the delay before an agent reconnects. In
 * milliseconds.
 */
const DIAL_AGAIN_MS = 5_000;
/** How far a running clock advances at a time, in milliseconds. */
const STEP_MS = 10;

export interface InProcessOptions extends SharedServerOptions {
  store?: "shared" | { sql: string };
  /** The number of gateways (default: 1). */
  gateways?: number;
  nodes?: NodeTraits[];
  /**
   * Settings of every gateway, besides those for running in this process. A function may write files into the
   * platform's folder and return settings with their paths.
   */
  env?: Record<string, string> | ((folder: string) => Promise<Record<string, string>>);
  /** "manual" (default): the clock stands still unless the test moves it. "running": it also advances by itself. */
  clock?: "manual" | "running";
}

interface InProcessGateway extends ListeningGateway {
  baseUrl: string;
  internalUrl: string;
}

export class InProcessStage extends Stage {
  readonly clock: ManualClock;
  readonly gateways: InProcessGateway[] = [];
  /** The parsed log lines of gateways and agents, only warnings and errors. */
  readonly logged: Record<string, unknown>[] = [];
  /** The answers to the canaries that gateways generate, because hand-made nodes have no model. */
  readonly answers = new RecordedCanaries();
  /** The environment of every gateway. */
  readonly env: Record<string, string>;
  /** The files of gateways and tests; removed when the stage closes. */
  readonly folder: string;
  readonly #log: Log;
  readonly #nodes = new Set<StageNode>();
  readonly #isManual: boolean;
  #stopClock: () => void = () => {};

  private constructor(
    shared: SharedServers,
    { env, folder, isManual }: Pick<InProcessStage, "env" | "folder"> & { isManual: boolean },
  ) {
    super(shared);
    this.#isManual = isManual;
    this.env = env;
    this.folder = folder;
    // The clock starts at the real time, as the database does, because the database decides when leases expire.
    this.clock = manualClock(Date.now());
    this.#log = createLog("warn", { write: (line: string) => void this.logged.push(JSON.parse(line)) });
  }

  static async open(options: InProcessOptions): Promise<InProcessStage> {
    const { gateways = 1, nodes = [], clock = "manual" } = options;
    const folder = await mkdtemp(join(tmpdir(), "tollgate-stage-"));
    const env = typeof options.env === "function" ? await options.env(folder) : options.env;
    const shared = await openSharedServers(options);
    const isManual = clock === "manual";
    const stage = new InProcessStage(shared, { env: { ...shared.env, ...env }, folder, isManual });
    // The clock runs during the start: on NATS, a starting gateway waits for messages of the other gateways.
    stage.#stopClock = running(stage.clock);
    try {
      for (let i = 0; i < gateways; i++) await stage.addGateway();
      for (const node of nodes) await stage.node(node);
    } catch (error) {
      await stage.close();
      throw error;
    }
    if (isManual) stage.#stopClock();
    return stage;
  }

  /** The first gateway. */
  get gateway(): InProcessGateway {
    return this.gateways[0] as InProcessGateway;
  }

  get baseUrl(): string {
    return this.gateway.baseUrl;
  }

  /**
   * Starts another gateway. On NATS the new gateway waits for messages of the other gateways, so the clock must run
   * during its start.
   */
  async addGateway(): Promise<InProcessGateway> {
    const gateway = await this.#startGateway();
    this.gateways.push(gateway);
    return gateway;
  }

  /** Starts a node. `wrapped` gets the scripted engine and returns the engine that the node uses. */
  async node({
    models,
    name,
    slots,
    host,
    wrapped = (engine) => engine,
  }: NodeTraits & { wrapped?: (scripted: Engine) => Engine }): Promise<StageNode> {
    const { clock } = this;
    const isManual = this.#isManual;
    const its = host ?? (await this.host());
    const { id } = await enrolNode(this, its, { name: name ?? `node-${this.#nodes.size + 1}`, models });
    const faults = new FrameFaultInjector();
    const agent = new Agent({
      node: id,
      version: "tollgate-host/stage",
      engine: wrapped(scriptedEngine({ models, clock, faults, slots })),
      models,
      credentials: () => fetchCredentials(this, its, id),
      dial: faults.decorate(connectToNats),
      clock,
      log: this.#log,
      status({ type }) {
        // The NATS client waits in real time, but the agent dials again by the test's clock. So the clock is moved
        // when a connection is lost.
        if (type !== "online" && isManual) clock.soon(() => clock.advance(DIAL_AGAIN_MS));
      },
    });
    agent.start();
    await Promise.all(this.gateways.map((gateway) => gateway.nodeOnline(id)));
    const node = { id, host: its, stop: () => agent.stop() };
    this.#nodes.add(node);
    return node;
  }

  /** Lets a stopped clock run until the returned function is called. */
  runClock(): () => void {
    return running(this.clock);
  }

  async close(): Promise<void> {
    this.#stopClock();
    for (const node of this.#nodes) await node.stop();
    for (const gateway of this.gateways) await gateway.close();
    await this.shared.close();
    await rm(this.folder, { recursive: true });
  }

  async #startGateway(): Promise<InProcessGateway> {
    const { clock, shared, env } = this;
    const { ports, settings } = await openPorts({
      clock,
      log: this.#log,
      database: shared.database as TestDatabase,
      directory: await mkdtemp(join(this.folder, "gateway-")),
      env,
    });
    const gateway = await assemble(ports, { ...settings, makeUpCanary: this.answers.makeUp });
    const { HOST = "127.0.0.1" } = env;
    const internalUrl = `http://127.0.0.1:${gateway.internalPort}`;
    return { ...gateway, baseUrl: `http://${HOST}:${gateway.port}`, internalUrl };
  }
}

/**
 * Advances the clock by one step per turn of the event loop; turns that a busy machine skipped are not made up for.
 * Returns a function that stops the clock.
 */
function running(clock: ManualClock): () => void {
  const steps = setInterval(() => clock.advance(STEP_MS), STEP_MS);
  return () => clearInterval(steps);
}

interface Place {
  clock: ManualClock;
  log: Log;
  database: TestDatabase;
  directory: string;
  env: Record<string, string>;
}

/**
 * Opens the real adapters, except the database's health check: tests do not judge how fast the test database answers.
 */
async function openPorts({ clock, log, database, directory, env }: Place) {
  const config = parseConfig({
    PORT: "0",
    INTERNAL_PORT: "0",
    PLANE_PORT: "0",
    DATA_DIR: directory,
    ...NO_QUARANTINE_OR_PROBATION_ENV,
    ...env,
  });
  const random = systemRandom();
  const newId = newIds(clock, random);
  const gatewayId = publicIdSuffix(newId());
  const stops: CloseFunction[] = [];
  const onClose = (stop: CloseFunction): void => void stops.push(stop);
  const progress = (): void => {};
  const onLost = (error: Error): void => log.error({ err: error }, "the gateway cannot go on");
  const context: BuildContext = { config, log, clock, random, newId, gatewayId, onClose, progress, onLost };
  const store = await openStore(context, database);
  const secrets = await loadServerSecrets(config);
  const ports: ExternalInterfaces & { listener: Listener } = {
    clock,
    random,
    newId,
    gatewayId,
    log,
    tracing: noTracing,
    store,
    models: await openModelsAndTokenizers(context, store),
    plane: await openPlane(context, secrets),
    deployment: Promise.resolve("stage"),
    limits: createLimitsFactory(context, clock.now),
    spool: { directory: config.spoolDir },
    mail: config.mail && createSmtpMailSender(config.mail),
    payments: undefined,
    listener: await openListener(context),
    async close() {
      for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) await stop();
    },
  };
  const settings = deriveSettingsFromConfig({ config, secrets, secretCanaries: new Map() });
  return { ports, settings: { ...settings, passwordHash: cheapPasswordHash, drain: { delayMs: 0, graceMs: 1_000 } } };
}

/**
 * Opens a connection pool for one gateway, with the notifications that gateways send each other through the database.
 */
async function openStore({ clock, log, onClose }: BuildContext, { connection }: TestDatabase): Promise<DatabaseAccess> {
  const pool = openPool(connection, { log, sizeMax: 10, connectMsMax: TEST_CONNECTION_TIMEOUT_MS });
  onClose(() => pool.end());
  const store = createTestDatabaseAccess({ pool });
  const guard = { health: { isAway: false, suspect: async () => false }, adopt: () => {} };
  const broadcast = await openBroadcast({ pool, connection, guard, clock, log });
  onClose(() => broadcast.close());
  return { ...store, broadcast };
}
