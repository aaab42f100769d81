/**
 * A test platform of processes: `tollgate serve` and `tollgate-host up`, as operators and hosts run them, for tests
 * that start, stop and kill them.
 */
import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { type NodeTraits, Stage, type StageNode } from "./base-stage.ts";
import { createDataDir, removeDataDir } from "./dev-platform.ts";
import { type GatewayProcess, startGatewayProcess } from "./gateway-process.ts";
import type { Process } from "./killable-process.ts";
import { type Balancer, startBalancer } from "./load-balancer.ts";
import { callNodeApi } from "./nodes/hand-made-node.ts";
import { startNode } from "./nodes/start-agent.ts";
import { openSharedServers, type SharedServerOptions, type SharedServers } from "./shared-servers.ts";
import { RECEIPT_SEED } from "./stage-database.ts";
import { eventually } from "./wait.ts";

const SLOTS = 16;

export interface ProcessOptions extends SharedServerOptions {
  /**
   * The number of gateways at the start (default: 1). If the number is given and not 1, a balancer that checks
   * `/readyz` is in front of them.
   */
  gateways?: number;
  nodes?: NodeTraits[];
  /**
   * Settings of every gateway. A function may write files into the first gateway's data directory and return settings
   * with their paths.
   */
  env?: Record<string, string> | ((dataDir: string) => Promise<Record<string, string>>);
}

export class ProcessStage extends Stage {
  /** The gateways that are not stopped. */
  readonly gateways: Set<GatewayProcess>;
  readonly balancer: Balancer | undefined;
  /** The environment of every gateway. */
  readonly env: Record<string, string>;
  /** The first gateway's data directory. Every other gateway has one of its own, like a new machine. */
  readonly dataDir: string;
  readonly #dataDirs: string[] = [];
  /** All nodes that were started, including those that have stopped. */
  readonly nodes: Process[] = [];
  #first: GatewayProcess | undefined;
  #ended: Promise<number | null> | undefined;

  private constructor(
    shared: SharedServers,
    { env, dataDir, gateways, balancer }: Pick<ProcessStage, "env" | "dataDir" | "gateways" | "balancer">,
  ) {
    super(shared);
    this.env = env;
    this.dataDir = dataDir;
    this.gateways = gateways;
    this.balancer = balancer;
  }

  static async open(options: ProcessOptions): Promise<ProcessStage> {
    const { gateways: count = 1, nodes = [] } = options;
    const dataDir = await createDataDir();
    const shared = await openSharedServers(options, dataDir);
    const more = typeof options.env === "function" ? await options.env(dataDir) : options.env;
    const gateways = new Set<GatewayProcess>();
    const balancer = count === 1 ? undefined : await startBalancer({ gateways: () => [...gateways].map(portsOf) });
    const stage = new ProcessStage(shared, {
      env: { RECEIPT_SEED, ...shared.env, ...more },
      dataDir,
      gateways,
      balancer,
    });
    try {
      await Promise.all(Array.from({ length: count }, () => stage.addGateway()));
      await stage.joined();
      for (const node of nodes) await stage.node(node);
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  get baseUrl(): string {
    return this.balancer?.url ?? this.gateway.baseUrl;
  }

  /** The first gateway that was started. */
  get gateway(): GatewayProcess {
    if (this.#first === undefined) throw new Error("no gateway was started");
    return this.#first;
  }

  get pid(): number {
    return this.gateway.pid() as number;
  }

  /** Starts another gateway with additional settings, from these sources or those in `root`. */
  async addGateway(settings: Record<string, string> = {}, root?: string): Promise<GatewayProcess> {
    const isFirst = this.#dataDirs.length === 0;
    const dataDir = isFirst ? this.dataDir : await createDataDir();
    this.#dataDirs.push(dataDir);
    const gateway = await startGatewayProcess(dataDir, { ...this.env, ...settings }, "gateway", root);
    if (isFirst) this.#first = gateway;
    this.gateways.add(gateway);
    return gateway;
  }

  /** Stops a gateway with SIGTERM and checks that it exits with 0. */
  async removeGateway(gateway: GatewayProcess): Promise<void> {
    assert.equal(await gateway.stop(), 0, await readFile(gateway.logFile, "utf8"));
    this.gateways.delete(gateway);
  }

  /** Resolves when the balancer sends requests to every gateway. */
  async joined(): Promise<void> {
    const { balancer, gateways } = this;
    if (balancer !== undefined) await eventually("all gateways are ready", () => balancer.ready() === gateways.size);
  }

  async node({ models, name, slots = SLOTS, host }: NodeTraits): Promise<StageNode & { process: Process }> {
    const its = host ?? (await this.host());
    const called = name ?? `node-${this.nodes.length + 1}`;
    const ready = { gateway_url: this.baseUrl, host_token: its.token };
    const process = await startNode({ ready }, { name: called, model: models.join(","), slots });
    this.nodes.push(process);
    const { body } = await callNodeApi<{ data: { id: string; name: string }[] }>(this, its.token, "GET", "/nodes");
    const id = body.data.find((node) => node.name === called)?.id as string;
    const stop = async (): Promise<void> => void (await process.end("SIGTERM"));
    return { id, host: its, process, stop };
  }

  async metrics(): Promise<string> {
    return await (await fetch(`http://127.0.0.1:${this.gateway.internalPort}/metrics`)).text();
  }

  async logBytes(): Promise<number> {
    return (await stat(this.gateway.logFile)).size;
  }

  /** Stops nodes and gateways and keeps their files. Resolves with the first gateway's exit code. */
  stop(): Promise<number | null> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async close(): Promise<void> {
    const code = await this.stop();
    await this.shared.close();
    for (const dataDir of this.#dataDirs) await removeDataDir(dataDir);
    if (code !== null && code !== 0) throw new Error(`the gateway ended with ${code}`);
  }

  async #end(): Promise<number | null> {
    for (const node of this.nodes) await node.kill();
    await this.balancer?.close();
    await this.shared.stopLooking();
    const codes = await Promise.all([...this.gateways].map((gateway) => gateway.stop()));
    return codes[0] ?? null;
  }
}

const portsOf = ({ baseUrl, internalPort }: GatewayProcess) => ({ port: Number(new URL(baseUrl).port), internalPort });
