/**
 * The functions that every test platform (stage) has, in one process or several: accounts, keys, records, checks of the
 * ledger.
 */
import assert from "node:assert/strict";
import {
  type BuilderAccount,
  DEFAULT_CREDIT_PICO,
  HIGH_KEY_LIMITS,
  type HostAccount,
  type KeyTraits,
  makeKey,
  openBuilderAccount,
  openHostAccount,
} from "./builder-and-host-accounts.ts";
import { runTollgate } from "./dev-platform.ts";
import { type RequestRecordRow, waitUntilSettled } from "./ledger-check.ts";
import { convertRequestIdToUuid } from "./raw-http.ts";
import type { SharedServers } from "./shared-servers.ts";
import type { Query } from "./stage-database.ts";

export interface NodeTraits {
  models: string[];
  name?: string;
  slots?: number;
  /** The node's host. Default: a new one. */
  host?: HostAccount;
}

/**
 * A node of a test platform. Its scripted engine answers as the prompt instructs (`host/src/engines/engine-script.ts`).
 */
export interface StageNode {
  /** The public ID, `node_…`. */
  id: string;
  host: HostAccount;
  stop(): Promise<void>;
}

export abstract class Stage {
  readonly shared: SharedServers;

  constructor(shared: SharedServers) {
    this.shared = shared;
  }

  /** The environment of every gateway. */
  abstract readonly env: Record<string, string>;

  /** The public API's URL: the balancer's if there is one, otherwise the first gateway's. */
  abstract get baseUrl(): string;

  /** Starts a node; resolves when it accepts requests. */
  abstract node(traits: NodeTraits): Promise<StageNode>;

  /** Stops the test platform and removes its data. */
  abstract close(): Promise<void>;

  /** Queries the database on a connection of the tests, not of a gateway. */
  get query(): Query {
    return this.shared.query;
  }

  /** Opens a builder account with this credit (default: $100) and a key without limits. */
  async builder(credit = DEFAULT_CREDIT_PICO, traits: KeyTraits = HIGH_KEY_LIMITS): Promise<BuilderAccount> {
    const account = await openBuilderAccount(this.query, credit);
    return { account, key: (await makeKey(this.query, account, traits)).token };
  }

  host(): Promise<HostAccount> {
    return openHostAccount(this.query);
  }

  async balance(account: string): Promise<bigint> {
    const [row] = await this.query<{ balance: string }>("select balance from ledger_account where id = $1", [account]);
    return BigInt(row?.balance ?? 0);
  }

  /** Returns the record of an answered request once it is settled; undefined if the request has no record. */
  async record(response: Response): Promise<RequestRecordRow | undefined> {
    const id = convertRequestIdToUuid(response.headers.get("x-request-id") ?? "");
    await waitUntilSettled(this, id);
    const [row] = await this.query<RequestRecordRow>("select * from request where id = $1", [id]);
    return row;
  }

  /**
   * Runs `tollgate admin …` as a process with the gateways' settings. Returns its output; throws unless it exits with
   * 0.
   */
  async admin(...args: string[]): Promise<string> {
    const run = runTollgate(["admin", ...args], this.env);
    assert.equal(await run.ended, 0, run.output());
    return run.output();
  }

  /** Waits until no holds are left. Every test calls it at its end. */
  noHolds(): Promise<void> {
    return waitUntilSettled(this);
  }
}
