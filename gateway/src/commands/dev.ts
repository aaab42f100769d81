/**
 * `tollgate dev` (= `npm start`): runs a whole platform on one machine: private PostgreSQL, gateway, local nodes with a
 * real inference engine, and accounts. Ctrl-C stops everything. The next start uses the same data.
 */

import { mkdirSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { DemoPaymentProvider } from "@tollgate/demo-provider/demo-provider.ts";
import type { BaseCommandContext, Command, CommandInput } from "@tollgate/terminal/command.ts";
import { CommandError, UsageError } from "@tollgate/terminal/errors.ts";
import type { Terminal } from "@tollgate/terminal/terminal.ts";
import pino from "pino";
import { systemClock } from "../base/clock.ts";
import { createLog, type Log } from "../base/log.ts";
import { systemRandom } from "../base/random.ts";
import type { BuiltGateway } from "../build.ts";
import { type Config, parseConfig } from "../config.ts";
import { CATALOGUE_FILE, loadCatalogue } from "../metering/catalogue.ts";
import type { DevAccounts } from "./dev-accounts.ts";
import { DEV_FLAGS, type DevFlags, parseDevFlags } from "./dev-flags.ts";
import {
  type AgentOnlineMessage,
  explainNodeWithoutRequests,
  findAgent,
  findLocalNodes,
  LocalNode,
  waitUntilServing,
} from "./dev-nodes.ts";
import { formatReadyLines } from "./ready-screen.ts";
import { type StopRequest, waitForStopSignal } from "./stop-signals.ts";

export const devCommand: Command = {
  help: "run a whole platform on this machine, with data in ./data (npm start)",
  flags: DEV_FLAGS,
  more: ["npm start -- [flags] does the same. Ctrl-C stops everything; the next start continues with the same data."],
  example: "--port 8081 --engine demo --models tiny-3b",
  run,
};

async function run(given: CommandInput, { terminal, env }: BaseCommandContext): Promise<number> {
  const flags = parseDevFlags(given);
  const dataDir = resolve(flags.data);
  const parsed = parseConfig({
    ...env,
    ...(flags.port !== undefined && { PORT: String(flags.port) }),
    DATA_DIR: dataDir,
    // Any free port works, because agents get the plane's address from the gateway.
    PLANE_PORT: env.PLANE_PORT ?? "0",
    // Off, because the demo model's answers and speed differ from those of the models that it stands in for.
    AUTO_QUARANTINE: env.AUTO_QUARANTINE ?? "false",
    // Off: the nodes belong to the user, so they need no probation.
    PROBATION_ANSWERS: env.PROBATION_ANSWERS ?? "0",
    // Losing trial data in a crash is acceptable.
    DATABASE_DURABILITY: env.DATABASE_DURABILITY ?? "assumed",
    // No delay: there is no load balancer to wait for, and a user who pressed Ctrl-C should not wait.
    DRAIN_DELAY_S: env.DRAIN_DELAY_S ?? "0",
    DRAIN_GRACE_S: env.DRAIN_GRACE_S ?? "10",
  });
  const { probationAnswers } = parsed.nodeRules;
  // With 0 probation answers, the other rule for new nodes is off too: that they get no work while a node of their host
  // is in quarantine.
  const config: Config = { ...parsed, nodeRules: { probationAnswers, hostSanction: probationAnswers > 0 } };
  if (flags.payments === "demo" && config.payments !== undefined) {
    throw new CommandError("--payments demo cannot be used while STRIPE_SECRET_KEY is set", {
      next: "unset STRIPE_SECRET_KEY, or leave out --payments demo",
    });
  }
  const models = await modelsToElect(config, flags.models);
  // Finds the agent before anything starts, so that a missing package fails at once.
  const agent = flags.nodes === 0 ? "" : findAgent();
  makeDataDir(dataDir);
  if (flags.readyFile !== undefined) await rm(flags.readyFile, { force: true });
  const destination = pino.destination({ dest: join(dataDir, "gateway.log"), mode: 0o600, sync: false });
  const log = createLog(config.logLevel, destination);
  const stop = waitForStopSignal();
  const platform = new DevPlatform({
    flags,
    agent,
    models,
    config,
    dataDir,
    log,
    stop,
    terminal,
  });
  try {
    await platform.start();
    const lost = await stop.asked;
    if (lost !== undefined) throw lost;
    return 0;
  } finally {
    await platform.stop();
    destination.flushSync();
  }
}

interface DevOptions {
  flags: DevFlags;
  /** The path of the agent's program; empty without nodes. */
  agent: string;
  models: string[];
  config: Config;
  dataDir: string;
  log: Log;
  stop: StopRequest;
  terminal: Terminal;
}

class DevPlatform {
  readonly #o: DevOptions;
  #gateway: BuiltGateway | undefined;
  #nodes: LocalNode[] = [];
  #payments: DemoPaymentProvider | undefined;

  constructor(options: DevOptions) {
    this.#o = options;
  }

  async start(): Promise<void> {
    const { flags, dataDir, log, stop, terminal } = this.#o;
    const { step } = terminal.progress;
    const config = await this.#withPayments();
    step("starting the gateway");
    // Imported here: the gateway is large, and a static import would load it for every command.
    const { buildGateway: build } = await import("../build.ts");
    const { ensureDevAccounts } = await import("./dev-accounts.ts");
    const gateway = await build({
      config,
      log,
      progress: step,
      onLost: (error) => stop.now(error),
      anyInternalPort: true,
      development: true,
    });
    this.#gateway = gateway;
    const gatewayUrl = `${config.tls === undefined ? "http" : "https"}://${config.host}:${gateway.port}`;
    this.#payments?.deliveries.to(`${gatewayUrl}/webhooks/stripe`);
    const accounts = await ensureDevAccounts(gateway, dataDir);
    const baseUrl = `${gatewayUrl}/v1`;
    const consoleUrl = `${gatewayUrl}/console`;
    const { online, notes } = await this.#startNodes(gateway, gatewayUrl, accounts);
    const model = flags.models?.[0] ?? "tiny-3b";
    const paymentsUrl = this.#payments?.url;
    const signIn = accounts.builder;
    const ready = { baseUrl, consoleUrl, paymentsUrl, apiKey: accounts.api_key, signIn, online, notes, model };
    for (const line of formatReadyLines(ready, terminal)) terminal.print(line);
    // Written last: everything works once this file exists.
    if (flags.readyFile !== undefined) await this.#writeReadyFile(flags.readyFile, { gatewayUrl, accounts });
    // Loads modules that were postponed at the start, so that the console's first visitor does not wait for them.
    void gateway.warm();
  }

  /** With `--payments demo`, starts the demo payment provider and returns the configuration with its settings. */
  async #withPayments(): Promise<Config> {
    const { flags, config, dataDir, log } = this.#o;
    if (flags.payments !== "demo") return config;
    const { openDemoPaymentProvider: openDemoProvider } = await import("@tollgate/demo-provider/demo-provider.ts");
    const file = join(dataDir, "demo-payments.json");
    const demo = await openDemoProvider({ clock: systemClock, random: systemRandom(), log, file });
    this.#payments = demo;
    const { url: apiBase, secretKey, webhookSecret } = demo;
    return { ...config, payments: { apiBase, secretKey, webhookSecrets: [webhookSecret], invoices: true } };
  }

  /** Drains requests first, which need the nodes, then stops the nodes, the gateway and the database. */
  async stop(): Promise<void> {
    const { progress } = this.#o.terminal;
    progress.step("stopping: waiting for the requests in flight");
    await this.#gateway?.drain();
    await Promise.all(this.#nodes.map((node) => node.stop()));
    await this.#payments?.close();
    await this.#gateway?.close();
    progress.done();
  }

  /** Does not wait for nodes that were left paused or quarantined. The notes mention them. */
  async #startNodes(
    gateway: BuiltGateway,
    gatewayUrl: string,
    accounts: DevAccounts,
  ): Promise<{ online: AgentOnlineMessage[]; notes: string[] }> {
    const { flags, agent, models, dataDir, log, terminal } = this.#o;
    if (flags.nodes > 0)
      terminal.progress.step(`starting ${flags.nodes === 1 ? "a local node" : `${flags.nodes} local nodes`}`);
    const names = Array.from({ length: flags.nodes }, (_, i) => `local-${i + 1}`);
    const left = await findLocalNodes(gateway, accounts, names);
    const barred = left.filter(({ standing }) => standing === "quarantined");
    const starting = names
      .filter((name) => !barred.some((node) => node.name === name))
      .map((name) =>
        LocalNode.start({
          agent,
          name,
          gatewayUrl,
          hostToken: accounts.host_token,
          engine: flags.engine,
          models,
          dataDir,
          log,
        }),
      );
    const settled = await Promise.allSettled(starting);
    const failed = settled.find((result) => result.status === "rejected");
    const started = settled.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    this.#nodes = started.map(({ node }) => node);
    if (failed !== undefined) throw failed.reason;
    const online = started.map(({ online }) => online);
    const place = { consoleUrl: `${gatewayUrl}/console`, dataDir };
    const notes = await Promise.all(online.map(({ node }) => waitUntilServing(gateway, node, place)));
    return {
      online,
      notes: [...barred.map((node) => explainNodeWithoutRequests(node, place)), ...notes].flatMap((note) => note ?? []),
    };
  }

  async #writeReadyFile(
    file: string,
    { gatewayUrl, accounts }: { gatewayUrl: string; accounts: DevAccounts },
  ): Promise<void> {
    const content = {
      base_url: `${gatewayUrl}/v1`,
      gateway_url: gatewayUrl,
      console_url: `${gatewayUrl}/console`,
      ...(this.#payments !== undefined && { payments_url: this.#payments.url }),
      ...accounts,
      pids: {
        gateway: process.pid,
        postgres: this.#gateway?.postgresPid ?? null,
        nodes: this.#nodes.map((node) => node.pid),
      },
    };
    // Written to another name and renamed, so that no reader sees an incomplete file.
    await writeFile(`${file}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
}

/** The models that local nodes elect (choose to serve): the requested ones, or all active ones. */
async function modelsToElect(config: Config, asked: string[] | undefined): Promise<string[]> {
  const { active } = await loadCatalogue(config.catalogueFile ?? CATALOGUE_FILE);
  const unknown = (asked ?? []).filter((model) => !active.has(model));
  if (unknown.length === 0) return asked ?? [...active.keys()];
  throw new UsageError(
    `--models: the catalogue has no active model ${unknown.join(", ")}; choose from ${[...active.keys()].join(", ")}`,
  );
}

function makeDataDir(dataDir: string): void {
  try {
    // Other users may enter the directory but not list it. If root starts the platform, the database runs as another
    // user.
    mkdirSync(dataDir, { recursive: true, mode: 0o711 });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason =
      code === "EACCES"
        ? "this user has no write permission"
        : code === "ENOTDIR" || code === "EEXIST"
          ? "a part of this path is a file"
          : "see the code";
    throw new CommandError(`the data directory ${dataDir} cannot be created: ${reason} (${code})`, {
      next: "choose another data directory with --data DIR",
      cause,
    });
  }
}
