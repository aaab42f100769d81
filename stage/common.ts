/** The functions of every stage, in one process or several: accounts, keys, records, the state of the ledger. */
import assert from "node:assert/strict";
import {
  type Builder,
  CREDIT,
  type Host,
  type KeyTraits,
  makeKey,
  NO_LIMITS,
  openBuilder,
  openHost,
} from "./accounts.ts";
import type { Query } from "./database.ts";
import { tollgate } from "./dev.ts";
import { type RecordRow, untilSettled } from "./ledger-check.ts";
import { requestUuid } from "./raw-http.ts";
import type { Surroundings } from "./surroundings.ts";

export interface NodeTraits {
  models: string[];
  name?: string;
  slots?: number;
  /** Default: a host of its own. */
  host?: Host;
}

/** A node with the scripted engine, which answers as a prompt orders it to (`host/src/engines/script.ts`). */
export interface StageNode {
  /** `node_…` */
  id: string;
  host: Host;
  stop(): Promise<void>;
}

export abstract class Stage {
  readonly shared: Surroundings;

  constructor(shared: Surroundings) {
    this.shared = shared;
  }

  /** The environment of every gateway. */
  abstract readonly env: Record<string, string>;

  /** The public API's URL: the balancer's if there is one, otherwise the first gateway's. */
  abstract get baseUrl(): string;

  /** Resolves once the node takes requests. */
  abstract node(traits: NodeTraits): Promise<StageNode>;

  /** Ends everything and removes its data. */
  abstract close(): Promise<void>;

  /** Asks the database, on a connection of the stage's own. */
  get query(): Query {
    return this.shared.query;
  }

  /** A builder with so much credit (default: $100) and a key without limits. */
  async builder(credit = CREDIT, traits: KeyTraits = NO_LIMITS): Promise<Builder> {
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

  /** The record of an answered request, once it is settled; undefined when it left none. */
  async record(response: Response): Promise<RecordRow | undefined> {
    const id = requestUuid(response.headers.get("x-request-id") ?? "");
    await untilSettled(this, id);
    const [row] = await this.query<RecordRow>("select * from request where id = $1", [id]);
    return row;
  }

  /** `tollgate admin …`, as a process with the settings of the gateways. What it printed; it must end well. */
  async admin(...args: string[]): Promise<string> {
    const run = tollgate(["admin", ...args], this.env);
    assert.equal(await run.ended, 0, run.output());
    return run.output();
  }

  /** Every test ends with this: no holds are left. */
  noHolds(): Promise<void> {
    return untilSettled(this);
  }
}
