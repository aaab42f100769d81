/**
 * Caches the node records (what the database allows each node). They are read again every 30 s, and when they are
 * reported to have changed. While the database is unreachable, the last known records stay valid.
 */
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { type RateLimitedLog, rateLimitedLog } from "../base/rate-limited-log.ts";

/**
 * The data about a node in the database that dispatch uses: its host, its elected models, its probation, and counts of
 * its answers.
 */
export interface NodeRecord {
  nodeId: Uuid;
  hostAccountId: Uuid;
  /** The models that the host elected (chose) for the node. */
  models: string[];
  /** The people who own the host's account. Undefined: not known. */
  owners?: string[];
  /** How many honest answers the node still needs before its probation ends. Undefined or 0: not on probation. */
  answersOwed?: number;
  /** How many of the node's slots the gateway may use. Undefined: all. */
  slotsMax?: number;
  /** The number of the node's answers by model, as far as recorded. */
  answers?: Record<string, number>;
  /** How many of the node's answers spot checks judged, by model. */
  checked?: Record<string, number>;
  /** Whether spot checks have strong evidence against the node. */
  suspected?: boolean;
}

const RECORD_FOR_MS = 30_000;
/** How long to wait before a failed read is repeated. */
const RETRY_MS = 2_000;

interface Known {
  nodeRecord: NodeRecord | undefined;
  until: number;
}

interface NodeRecordsOptions {
  read: (nodeId: string) => Promise<NodeRecord | undefined>;
  clock: Clock;
  log: Log;
}

export class NodeRecords {
  readonly #options: NodeRecordsOptions;
  readonly #log: RateLimitedLog;
  readonly #known = new Map<string, Known>();
  /** Pending reads by node ID. */
  readonly #lookups = new Map<string, Promise<NodeRecord | undefined>>();
  /** Increases whenever records are reported to have changed. */
  #readings = 0;

  constructor(options: NodeRecordsOptions) {
    this.#options = options;
    this.#log = rateLimitedLog(options.log, options.clock);
  }

  /**
   * The node's record; undefined if the node is not allowed to work. Rejects if the record cannot be read and is not
   * cached.
   */
  async of(id: string): Promise<NodeRecord | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined && known.until > this.#options.clock.monotonic()) return known.nodeRecord;
    const lookup = this.#lookups.get(id) ?? this.#lookUp(id).finally(() => this.#lookups.delete(id));
    this.#lookups.set(id, lookup);
    return lookup;
  }

  /** Whether the cached record is new enough to be used without reading it again. */
  isFresh(id: string): boolean {
    return (this.#known.get(id)?.until ?? Number.NEGATIVE_INFINITY) > this.#options.clock.monotonic();
  }

  /** Marks the record of a node, or of all nodes, as changed. Returns the IDs of the nodes to check again. */
  changed(id: string | undefined): string[] {
    this.#readings += 1;
    const ids = id === undefined ? [...this.#known.keys()] : [id];
    for (const each of ids) {
      // Keeps the old record, in case the database cannot be read.
      const known = this.#known.get(each);
      if (known !== undefined) known.until = Number.NEGATIVE_INFINITY;
    }
    return ids;
  }

  /** Drops outdated records of nodes that left. */
  sweep(isConnected: (id: string) => boolean): void {
    const now = this.#options.clock.monotonic();
    for (const [id, { until }] of this.#known) if (until <= now && !isConnected(id)) this.#known.delete(id);
  }

  async #lookUp(id: string): Promise<NodeRecord | undefined> {
    for (;;) {
      const readings = this.#readings;
      const known = await this.#read(id);
      // Records changed during the read, so the result may be outdated and is read again.
      if (readings !== this.#readings) continue;
      this.#known.set(id, known);
      return known.nodeRecord;
    }
  }

  async #read(id: string): Promise<Known> {
    const now = this.#options.clock.monotonic();
    try {
      return { nodeRecord: await this.#options.read(id), until: now + RECORD_FOR_MS };
    } catch (error) {
      const known = this.#known.get(id);
      if (known === undefined) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.warn("", { reason }, "could not read node records; using the last known ones");
      return { nodeRecord: known.nodeRecord, until: now + RETRY_MS };
    }
  }
}
