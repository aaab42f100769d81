/**
 * Caches what the database allows each node, read again every 30 s and when it is said to have changed. When the database cannot be
 * read, the last known records stay in force.
 */
import type { Clock } from "../base/clock.ts";
import type { Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { type SparingLog, sparingLog } from "../base/sparing-log.ts";

/** What the fleet's records say of a node that asks for work. */
export interface NodeRecord {
  nodeId: Uuid;
  hostAccountId: Uuid;
  /** The models its host elected. */
  models: string[];
  /** The identities that own its host's account. Absent: no one knows them. */
  owners?: string[];
  /** Honest answers that it still owes: until then it is on probation. Absent or 0: it is not. */
  answersOwed?: number;
  /** How many of its slots it is trusted with. Absent: all. */
  slotsMax?: number;
  /** Answers that it gave with each model, as far as they are written down. */
  answers?: Record<string, number>;
  /** How many of its answers were checked. */
  checked?: number;
}

const RECORD_FOR_MS = 30_000;
/** Records that could not be read are tried again after this long. */
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
  readonly #log: SparingLog;
  readonly #known = new Map<string, Known>();
  /** Records that are being read. */
  readonly #lookups = new Map<string, Promise<NodeRecord | undefined>>();
  /** Grows whenever the records are said to have changed. */
  #readings = 0;

  constructor(options: NodeRecordsOptions) {
    this.#options = options;
    this.#log = sparingLog(options.log, options.clock);
  }

  /** Undefined: the node may not work. Rejects when the records of a node cannot be read that nothing is known of. */
  async of(id: string): Promise<NodeRecord | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined && known.until > this.#options.clock.monotonic()) return known.nodeRecord;
    const lookup = this.#lookups.get(id) ?? this.#lookUp(id).finally(() => this.#lookups.delete(id));
    this.#lookups.set(id, lookup);
    return lookup;
  }

  /** Whether what is known of the node need not be read again yet. */
  isFresh(id: string): boolean {
    return (this.#known.get(id)?.until ?? Number.NEGATIVE_INFINITY) > this.#options.clock.monotonic();
  }

  /** The records of a node, or of any, changed. Says whose have to be looked at again. */
  changed(id: string | undefined): string[] {
    this.#readings += 1;
    const ids = id === undefined ? [...this.#known.keys()] : [id];
    for (const each of ids) {
      // Not forgotten: should the records be out of reach, this is what is known.
      const known = this.#known.get(each);
      if (known !== undefined) known.until = Number.NEGATIVE_INFINITY;
    }
    return ids;
  }

  /** Forgets what is old of those who left. */
  sweep(isConnected: (id: string) => boolean): void {
    const now = this.#options.clock.monotonic();
    for (const [id, { until }] of this.#known) if (until <= now && !isConnected(id)) this.#known.delete(id);
  }

  async #lookUp(id: string): Promise<NodeRecord | undefined> {
    for (;;) {
      const readings = this.#readings;
      const known = await this.#read(id);
      // The records changed while they were read: what was read may be the old.
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
