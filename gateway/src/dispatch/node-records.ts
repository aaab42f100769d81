/**
 * Caches what the database allows each node. Records are read again every 30 s and when they are reported to have changed. While the
 * database cannot be read, the last known records stay in force.
 */
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { type RateLimitedLog, rateLimitedLog } from "../base/rate-limited-log.ts";

/** The database's record of a node. */
export interface NodeRecord {
  nodeId: Uuid;
  hostAccountId: Uuid;
  /** The models its host elected. */
  models: string[];
  /** The people who own its host's account. Absent: not known. */
  owners?: string[];
  /** Honest answers that the node still owes before its probation ends. Absent or 0: it is not on probation. */
  answersOwed?: number;
  /** How many of its slots the gateway uses. Absent: all. */
  slotsMax?: number;
  /** The node's answers by model, as far as they are recorded. */
  answers?: Record<string, number>;
  /** How many of its answers were checked. */
  checked?: number;
}

const RECORD_FOR_MS = 30_000;
/** A failed read is repeated after this time. */
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
  /** Reads in flight. */
  readonly #lookups = new Map<string, Promise<NodeRecord | undefined>>();
  /** Incremented whenever the records are reported to have changed. */
  #readings = 0;

  constructor(options: NodeRecordsOptions) {
    this.#options = options;
    this.#log = rateLimitedLog(options.log, options.clock);
  }

  /** Returns undefined when the node may not work. Rejects when the records cannot be read and none are cached. */
  async of(id: string): Promise<NodeRecord | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined && known.until > this.#options.clock.monotonic()) return known.nodeRecord;
    const lookup = this.#lookups.get(id) ?? this.#lookUp(id).finally(() => this.#lookups.delete(id));
    this.#lookups.set(id, lookup);
    return lookup;
  }

  /** Whether the cached record is recent enough. */
  isFresh(id: string): boolean {
    return (this.#known.get(id)?.until ?? Number.NEGATIVE_INFINITY) > this.#options.clock.monotonic();
  }

  /** The records of one node, or of any node, changed. Returns the nodes to look at again. */
  changed(id: string | undefined): string[] {
    this.#readings += 1;
    const ids = id === undefined ? [...this.#known.keys()] : [id];
    for (const each of ids) {
      // The old record is kept, for when the database cannot be read.
      const known = this.#known.get(each);
      if (known !== undefined) known.until = Number.NEGATIVE_INFINITY;
    }
    return ids;
  }

  /** Drops old records of nodes that left. */
  sweep(isConnected: (id: string) => boolean): void {
    const now = this.#options.clock.monotonic();
    for (const [id, { until }] of this.#known) if (until <= now && !isConnected(id)) this.#known.delete(id);
  }

  async #lookUp(id: string): Promise<NodeRecord | undefined> {
    for (;;) {
      const readings = this.#readings;
      const known = await this.#read(id);
      // The records changed during the read, so the result may be outdated.
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
