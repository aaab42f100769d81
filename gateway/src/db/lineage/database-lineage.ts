/**
 * Follows the history of the database, so that a gateway detects a failover and refuses an old copy. Every new
 * connection and heartbeat is compared with the known history (`history-rules.ts`). Only the heartbeat moves to a new
 * timeline. Before other connections are allowed there, it records a new epoch in `ledger_history` (a period of the
 * history, which a failover ends), clears caches and re-enters changes that must not be missing. Everything else that
 * the new timeline lacks is re-entered in the background.
 */
import type pg from "pg";
import { z } from "zod";
import type { Clock } from "../../base/clock.ts";
import { UnreachableError } from "../../base/dependency.ts";
import type { NewId } from "../../base/ids.ts";
import type { Log } from "../../base/log.ts";
import { rateLimitedLog } from "../../base/rate-limited-log.ts";
import { DATABASE_EPOCH_REASONS } from "../../base/stored-enumerations.ts";
import { queryOne, queryRow, row } from "../rows.ts";
import type { DatabaseHistoryStore, StoredHistory } from "./database-history-file.ts";
import {
  countLostHistoryPositions,
  type DatabaseHistory,
  judgeHistory,
  type ReportedHistory,
} from "./history-rules.ts";

/** The migration that adds the history tables. */
export const LINEAGE_MIGRATION = 43;
/**
 * A heartbeat advances the recorded position if no gateway did for this long. So there is one small commit per second,
 * for any number of gateways.
 */
const MOVE_EVERY = "1 second";
/** The least time between two updates of the database's position in the gateway's history file. */
const REMEMBER_EVERY_MS = 10_000;
/** The first and the longest pause before lost commits are entered again. Each failure doubles the pause. */
const [ENTER_AGAIN_MS, ENTER_AGAIN_MS_MAX] = [1_000, 30_000];

/** Thrown when a connection leads to a database that this gateway must not use. */
export class WrongDatabaseHistoryError extends UnreachableError {
  override name = "WrongHistory";
  readonly what: string;
  readonly remedy =
    "correct DATABASE_URL, or stop the rejected database server; to use its database from now on, run tollgate admin history accept";
  constructor(why: string) {
    super("database", why);
    this.what = `the database is rejected: ${why}`;
    this.message = this.what;
  }
}

type Client = pg.ClientBase | pg.Pool;

export const DatabaseHistoryRow = row({
  system: z.string(),
  /** The server's timeline. Null on a standby. */
  timeline: z.int().nullable(),
  epoch: z.string().nullable(),
  position: z.number().nullable(),
  reason: z.enum(DATABASE_EPOCH_REASONS).nullable(),
  /** The server's timeline when the latest epoch (an entry of `ledger_history`) began. Null: there is no epoch yet. */
  begunFor: z.int().nullable(),
  begunIn: z.string().nullable(),
  isDue: z.boolean().nullable(),
});
export type DatabaseHistoryRow = z.infer<typeof DatabaseHistoryRow>;
type Complete = ReportedHistory & Pick<DatabaseHistoryRow, "begunFor" | "begunIn" | "isDue">;

/** Reads the server's identity and the latest epoch, for the rules in `history-rules.ts`. */
export const READ_DATABASE_HISTORY = `select (select system_identifier::text from pg_control_system()) as system,
    case when not pg_is_in_recovery() then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline,
    h.epoch, h.position::float8 as position, h.reason, h.timeline as "begunFor", h.system as "begunIn",
    h.moved_at < clock_timestamp() - interval '${MOVE_EVERY}' as "isDue"
  from (select) one left join lateral (select * from ledger_history order by epoch desc limit 1) h on true`;
const BEGIN = `insert into ledger_history (epoch, system, timeline, position, reason)
  select $1, $2, $3, coalesce(max(position), 0), case when count(*) = 0 then 'first' else 'failover' end from ledger_history
  on conflict do nothing`;
/** Advances the position. `skip locked`: one of several gateways does it, and the others do not wait for its commit. */
const MOVE = `update ledger_history set position = position + 1, moved_at = clock_timestamp()
  where epoch = (select epoch from ledger_history where epoch = $1 and position = $2 for no key update skip locked)`;

const There = row({ isThere: z.boolean() });
const Known = row({ epoch: z.string(), position: z.number(), movedAt: z.number() });
/**
 * Reads this epoch, or the latest earlier one that this database has. Commits up to that epoch's last position are not
 * lost.
 */
const KNOWN = `select epoch, position::float8 as position, extract(epoch from moved_at)::float8 * 1000 as "movedAt"
  from ledger_history where epoch <= $1 order by epoch desc limit 1`;

/** The gateway's move to the history that follows a failover. */
export interface TimelineSwitch {
  epoch: string;
  /** How many positions the failover lost. Gateways advance the position about once per second. */
  positions: number;
  /** Commits since this time (Unix milliseconds) may be lost. 0: unknown. */
  lostSince: number;
}

interface Follower {
  /** Runs before the database is used again. Clears caches and re-enters changes that must not be missing. */
  first: (client: Client, move: TimelineSwitch) => Promise<void>;
  /**
   * Re-enters the changes that `first` left out, in the background. Called again after a failure or restart, until it
   * succeeds.
   */
  rest: (move: TimelineSwitch) => Promise<void>;
}

interface LineageOptions {
  memory: DatabaseHistoryStore;
  newId: NewId;
  clock: Clock;
  log: Log;
}

export class DatabaseLineage {
  readonly #options: LineageOptions;
  readonly #sparing: ReturnType<typeof rateLimitedLog>;
  /** Whether the database has the history tables. */
  isOn = false;
  #seen: StoredHistory | undefined;
  #heardTimeline = 0;
  #rememberedAt = 0;
  #move: TimelineSwitch | undefined;
  #follower: Follower | undefined;
  /** Called when a connection reports a timeline to which the heartbeat has not moved yet. */
  onNewer: () => void = () => {};
  /** Called after the heartbeat has moved to a new history. */
  onMoved: () => void = () => {};
  /** How many connections were refused. */
  refusals = 0;

  constructor(options: LineageOptions) {
    this.#options = options;
    this.#sparing = rateLimitedLog(options.log, options.clock);
  }

  /** The history that the gateway follows. */
  get seen(): Readonly<DatabaseHistory> | undefined {
    return this.#seen;
  }

  /**
   * Reads the history that the gateway last saw from its file, and checks that the database continues it. Throws
   * `WrongDatabaseHistoryError` if it does not, because the gateway must not use that database. Does nothing before the
   * database has the history tables.
   */
  async begin(client: Client): Promise<void> {
    if (this.isOn || !(await hasTables(client))) return;
    this.#seen = await this.#options.memory.read();
    this.#rememberedAt = this.#options.clock.monotonic();
    const { found, judged } = this.#judged(await look(client), this.#seen);
    // Set only after the judgement: if it rejects the database, a repeated call judges again.
    this.isOn = true;
    await this.#accept(client, found, judged);
    // An earlier process may have ended before it re-entered everything that a failover lost. Then this process
    // continues that work.
    const seen = this.#seen as StoredHistory;
    if (seen.entered === seen.epoch || this.#move !== undefined) return;
    const known = await queryRow(client, Known, KNOWN, [seen.entered]);
    this.#move = { epoch: seen.epoch, positions: 0, lostSince: known?.movedAt ?? 0 };
  }

  /** Writes a new database's history to disk, once the gateway certainly belongs to it. */
  async remember(): Promise<void> {
    if (this.#seen !== undefined) await this.#options.memory.write(this.#seen);
  }

  /** Registers the work to do after a failover, and does it for a failover found at the start. */
  async follow(follower: Follower, client: Client): Promise<void> {
    this.#follower = follower;
    const move = this.#move;
    if (move === undefined) return;
    await follower.first(client, move);
    this.#enterRest(move);
  }

  /**
   * Checks one of several servers before it is chosen. Throws `WrongDatabaseHistoryError` if the server must not be
   * used.
   */
  async suits(client: Client): Promise<void> {
    if (!this.isOn && !(await hasTables(client))) return;
    this.#judged(await look(client), this.#seen ?? (await this.#options.memory.read()));
  }

  /**
   * Checks that a connection leads to the known history of the database, before the connection is used. The heartbeat's
   * connection is checked by `beat` instead.
   */
  async check(client: Client): Promise<void> {
    if (!this.isOn) return;
    const before = this.#seen;
    const { found, judged } = this.#judged(await look(client), before);
    if (judged === "same") return;
    if (found.system === this.#seen?.system) this.#heardTimeline = Math.max(this.#heardTimeline, found.timeline);
    this.onNewer();
    throw new UnreachableError("database", "it failed over, and the heartbeat has not followed yet");
  }

  /**
   * Checks the heartbeat's connection. After a failover, only this check may accept the database's new history; other
   * connections are refused until then.
   */
  async beat(client: Client, looked: DatabaseHistoryRow): Promise<void> {
    const { found, judged } = this.#judged(looked, this.#seen);
    await this.#accept(client, found, judged);
    if (found.isDue !== true || judged === "moved") return;
    // Not awaited, because a hanging commit would also delay the next heartbeat.
    client.query(MOVE, [found.epoch, found.position]).catch((error) => {
      this.#options.log.debug(
        { err: error },
        "could not advance the position in the database's history (table ledger_history)",
      );
    });
  }

  /** Records the timeline that another gateway follows. */
  hear({ system, timeline }: Pick<DatabaseHistory, "system" | "timeline">): void {
    const seen = this.#seen;
    if (seen === undefined || system !== seen.system || timeline <= Math.max(seen.timeline, this.#heardTimeline))
      return;
    this.#heardTimeline = timeline;
    this.onNewer();
  }

  /**
   * Compares a reading with a history. `before`: the history known when the query was sent, because a slow response may
   * be older than the current one.
   */
  #judged(
    looked: DatabaseHistoryRow,
    before: StoredHistory | undefined,
  ): { found: Complete; judged: "same" | "moved" } {
    const found = complete(looked);
    const isNewest = this.#seen === undefined || this.#seen.epoch === before?.epoch;
    const seen = isNewest ? before : this.#seen;
    const judged = judgeHistory(seen, found, this.#heardTimeline);
    if (judged.kind !== "refused") return { found, judged: judged.kind };
    this.refusals += 1;
    const { why: reason } = judged;
    this.#sparing.error(
      "",
      { reason },
      "database rejected: it is not the database that this gateway used before, or it is an older copy of it",
    );
    throw new WrongDatabaseHistoryError(reason);
  }

  async #accept(client: Client, found: Complete, judged: "same" | "moved"): Promise<void> {
    const { system, timeline } = found;
    const isBegun = found.begunFor === timeline && found.begunIn === system;
    if (!isBegun) await client.query(BEGIN, [this.#options.newId(), system, timeline]);
    const { epoch, position } = isBegun ? found : complete(await look(client));
    const { memory, clock } = this.#options;
    const seen = this.#seen;
    const next: StoredHistory = { system, timeline, epoch, position, entered: seen?.entered ?? epoch };
    if (seen === undefined) {
      this.#seen = next;
    } else if (judged === "moved") {
      await this.#moveOn(client, seen, next);
    } else if (position > seen.position) {
      this.#seen = next;
      if (clock.monotonic() - this.#rememberedAt < REMEMBER_EVERY_MS) return;
      this.#rememberedAt = clock.monotonic();
      await memory.write(next);
    }
  }

  async #moveOn(client: Client, seen: DatabaseHistory, next: StoredHistory): Promise<void> {
    const { timeline, epoch } = next;
    const known = await queryRow(client, Known, KNOWN, [seen.epoch]);
    const positions = countLostHistoryPositions(seen, known?.epoch === seen.epoch ? known.position : null);
    const move = { epoch, positions, lostSince: known?.movedAt ?? 0 };
    await this.#follower?.first(client, move);
    await this.#options.memory.write(next);
    this.#seen = next;
    this.#move = move;
    const fields = { timeline, before: seen.timeline, epoch, positions: move.positions };
    this.#options.log.warn(
      fields,
      "the database has a new timeline, as after a failover; checking whether it lacks commits in this gateway's journals",
    );
    this.onMoved();
    this.#enterRest(move);
  }

  #enterRest(move: TimelineSwitch, failures = 0): void {
    const { log, clock, memory } = this.#options;
    const pauseMs = Math.min(ENTER_AGAIN_MS * 2 ** failures, ENTER_AGAIN_MS_MAX);
    const again = (): void => void clock.after(pauseMs, () => this.#enterRest(move, failures + 1));
    if (this.#move !== move) return;
    this.#follower?.rest(move).then(
      async () => {
        if (this.#move !== move) return;
        this.#move = undefined;
        this.#seen = { ...(this.#seen as StoredHistory), entered: move.epoch };
        await memory
          .write(this.#seen)
          .catch((error) => log.error({ err: error }, "could not save to disk which database this gateway uses"));
      },
      (error) => {
        this.#sparing.error(
          "rest",
          { err: error },
          "could not replay all lost charges and changes from this gateway's journals; retrying",
        );
        again();
      },
    );
  }
}

async function hasTables(client: Client): Promise<boolean> {
  const text = `select to_regclass('ledger_history') is not null as "isThere"`;
  return (await queryOne(client, There, text)).isThere;
}

const look = (client: Client): Promise<DatabaseHistoryRow> =>
  queryOne(client, DatabaseHistoryRow, READ_DATABASE_HISTORY);

function complete({ timeline, epoch, position, reason, ...rest }: DatabaseHistoryRow): Complete {
  if (timeline === null) throw new UnreachableError("database", "it is a standby");
  return { ...rest, timeline, epoch: epoch ?? "", position: position ?? 0, accepted: reason === "accepted" };
}
