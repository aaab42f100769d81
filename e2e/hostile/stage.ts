/**
 * Where strangers meet: a production gateway (`tollgate serve`) on a data directory of its own, with builders and hosts that
 * are put in place by plain SQL. `tollgate dev` trusts its local nodes; this one trusts nobody.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "@tollgate/stage/wait.ts";
import type pg from "pg";
import { connect, databaseOf, openDatabase, PEPPER } from "../database.ts";
import { type Host, type KeyTraits, makeKey, openBuilder, openHost } from "../fixtures.ts";
import type { RecordRow } from "../ledger-check.ts";
import { newDataDir, type Platform, removeDataDir } from "../platform.ts";
import { requestUuid } from "../raw-http.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** $100, in picodollars. */
const CREDIT = 100_000_000_000_000n;
/** More than any suite sends. */
const WIDE: KeyTraits = { requests: 1_000_000, tokens: 1_000_000_000, inFlight: 10_000 };

export interface Builder {
  account: string;
  key: string;
}

export interface Gateway {
  baseUrl: string;
  internalPort: number;
  process: ChildProcess;
  logFile: string;
  stop(): Promise<number | null>;
}

/** Runs `tollgate serve` until it serves, of these sources or of others. Its log goes to a file, as an operator's would. */
export async function serve(
  dataDir: string,
  env: Record<string, string>,
  name = "gateway",
  root = ROOT,
): Promise<Gateway> {
  const logFile = join(dataDir, `${name}.log`);
  const log = openSync(logFile, "a", 0o600);
  if (env.DATABASE_URL === undefined) await openDatabase(dataDir);
  const child = spawn(process.execPath, ["--max-semi-space-size=16", join(root, "gateway/bin/tollgate.mjs"), "serve"], {
    stdio: ["ignore", log, log],
    env: {
      ...process.env,
      LOG_LEVEL: "info",
      PORT: "0",
      INTERNAL_PORT: "0",
      PLANE_PORT: "0",
      // No balancer has to notice that it stops.
      DRAIN_DELAY_S: "0",
      DATA_DIR: dataDir,
      KEY_PEPPER: PEPPER,
      ...databaseOf(dataDir),
      ...env,
    },
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const found = await eventually("the gateway serves", async () => {
    const text = await readFile(logFile, "utf8");
    const line = /"port":(\d+),"internalPort":(\d+),"msg":"serving"/.exec(text);
    if (line === null && child.exitCode !== null) throw new Error(`the gateway ended before it served:\n${text}`);
    return line ?? undefined;
  });
  return {
    baseUrl: `http://${env.HOST ?? "127.0.0.1"}:${found[1]}`,
    internalPort: Number(found[2]),
    process: child,
    logFile,
    async stop() {
      child.kill("SIGTERM");
      return await ended;
    },
  };
}

export class Stage implements Pick<Platform, "query"> {
  readonly dataDir: string;
  readonly gateway: Gateway;
  readonly #client: pg.Client;
  #stopped: Promise<number | null> | undefined;

  private constructor(dataDir: string, gateway: Gateway, client: pg.Client) {
    this.dataDir = dataDir;
    this.gateway = gateway;
    this.#client = client;
  }

  /** `prepare` may write files into the data directory and name them in the environment. */
  static async open(prepare: (dataDir: string) => Promise<Record<string, string>>): Promise<Stage> {
    const dataDir = await newDataDir();
    const gateway = await serve(dataDir, await prepare(dataDir));
    return new Stage(dataDir, gateway, await connect(dataDir));
  }

  get baseUrl(): string {
    return this.gateway.baseUrl;
  }

  get pid(): number {
    return this.gateway.process.pid as number;
  }

  query = async <Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> =>
    (await this.#client.query(sql, values)).rows;

  /** Stops everything; what it wrote stays. */
  stop(): Promise<number | null> {
    this.#stopped ??= this.#client.end().then(() => this.gateway.stop());
    return this.#stopped;
  }

  /** Stops everything and removes its data. */
  async close(): Promise<number | null> {
    const code = await this.stop();
    await removeDataDir(this.dataDir);
    return code;
  }

  async logBytes(): Promise<number> {
    return (await stat(this.gateway.logFile)).size;
  }

  async metrics(): Promise<string> {
    return await (await fetch(`http://127.0.0.1:${this.gateway.internalPort}/metrics`)).text();
  }

  /** A builder with $100, or with this much. */
  async builder(credit = CREDIT, traits: KeyTraits = WIDE): Promise<Builder> {
    const account = await openBuilder(this.query, credit);
    return { account, key: (await makeKey(this.query, account, traits)).token };
  }

  host(): Promise<Host> {
    return openHost(this.query);
  }

  async balance(account: string): Promise<bigint> {
    const [row] = await this.query<{ balance: string }>("select balance from ledger_account where id = $1", [account]);
    return BigInt(row?.balance ?? 0);
  }

  /**
   * The record of an answered request; undefined when it left none. Where the database is slow the answer comes first, and the
   * settlement waits on the gateway's disk.
   */
  async record(response: Response): Promise<(RecordRow & { host_account_id: string | null }) | undefined> {
    const id = requestUuid(response.headers.get("x-request-id") ?? "");
    await eventually(
      "it is settled",
      async () => (await this.query("select 1 from hold where id = $1", [id])).length === 0,
    );
    const [row] = await this.query<RecordRow & { host_account_id: string | null }>(
      "select * from request where id = $1",
      [id],
    );
    return row;
  }

  /** What every test ends with: nothing is held any more. */
  async noHolds(): Promise<void> {
    await eventually("no hold is left", async () => (await this.query("select id from hold")).length === 0);
  }
}

export type Generation = { model: string; prompt: string } & Record<string, unknown>;

/** A chat request of one user message. */
export function ask(
  stage: Pick<Stage, "baseUrl">,
  key: string,
  { model, prompt, ...more }: Generation,
  signal: AbortSignal | null = null,
): Promise<Response> {
  return fetch(`${stage.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: prompt }], ...more }),
    signal,
  });
}

/** The words of an answer, streamed or whole. */
export async function said(response: Response): Promise<string> {
  const text = await response.text();
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    const { choices } = JSON.parse(text) as { choices?: { message: { content: string } }[] };
    return choices?.[0]?.message.content ?? "";
  }
  return [...text.matchAll(/"content":"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => JSON.parse(`"${word}"`)).join("");
}

/** The code of an error, as a status or as a stream's last event. */
export const codeIn = (text: string): string | undefined => /"code":\s*"([a-z_]+)"/.exec(text)?.[1];
