/**
 * Re-entry: after a failover that lost recent commits, enters the requests and changes that this gateway's journals
 * have and the database lacks. Re-entry can be repeated and can run on several gateways at once, because each request
 * or change has an ID and is entered once.
 */
import type pg from "pg";
import { z } from "zod";
import { publicId, type Uuid } from "../base/ids.ts";
import { DAY_MS } from "../base/time.ts";
import { isDataFault } from "../db/errors.ts";
import { column, queryRows, row } from "../db/rows.ts";
import type { HoldOrder } from "./hold.ts";
import type { Journal } from "./journal.ts";
import { ChangeIdAndTime, type JournalEntry, type JournalGap } from "./journal-lines.ts";
import type { Ledger } from "./ledger.ts";

/** The batch size of the ledger, and how many requests are entered concurrently. */
const AT_ONCE = 128;

export interface FailedReentry {
  kind: JournalEntry["kind"] | "journal";
  id: string;
  reason: string;
}

export interface LostCommitsReentryResult {
  /** How many lost items were entered again, by kind. */
  entered: Record<string, number>;
  notEntered: FailedReentry[];
}

export const createEmptyReentryResult = (): LostCommitsReentryResult => ({ entered: {}, notEntered: [] });

type RequestEntry = Extract<JournalEntry, { kind: "request" }>;
type Client = pg.ClientBase | pg.Pool;

const idOf = ({ settlement }: RequestEntry): Uuid => settlement.id;

const Missing = row({ id: column.uuid });
/**
 * Finds requests without an outcome. An expired lease (`gateway_lost`) does not count, because the request was
 * answered.
 */
const MISSING = `select o.id from unnest($1::uuid[]) as o (id)
  where not exists (select from request r where r.id = o.id and r.outcome <> 'gateway_lost')`;
const SHORT = "select id from request where id = any ($1::uuid[]) and short_pico > 0";

interface RequestsOptions {
  pool: pg.Pool;
  ledger: Pick<Ledger, "restore" | "trySettling">;
  /** Requests that still wait are added again, so that older files are not needed after a run that succeeded. */
  journal: Pick<Journal, "read" | "add">;
  /** The failover may have lost commits since this time (Unix milliseconds). */
  lostSince: number;
  /** Called in each run before the first lost request is entered. */
  onMissing?: () => Promise<void>;
}

interface WaitingRequest {
  entry: RequestEntry;
  reason: string;
  /** True: another try may succeed. False: the request waits for its account, which this database lacks. */
  isPassing: boolean;
}

/** Enters again, in the ledger, every answered request that one failover lost. */
export class LostRequestsReentry {
  readonly #options: RequestsOptions;
  entered = 0;
  /** Requests that cannot be entered or were charged only in part, and missing or unreadable parts of the journal. */
  #refused: FailedReentry[] = [];
  /** Requests that another run may enter. Undefined: no run has read the journal to its end yet. */
  #waiting: WaitingRequest[] | undefined;
  /** Entered requests for which it was not checked yet whether they were charged in full. */
  #unchecked: Uuid[] = [];

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  get notEntered(): FailedReentry[] {
    const waiting = (this.#waiting ?? []).map(({ entry, reason, isPassing }) =>
      requestNote(idOf(entry), isPassing ? `${reason}; it is tried again` : reason),
    );
    return [...this.#refused, ...waiting];
  }

  /** Whether another run would achieve nothing, because every request that still waits lacks its account. */
  get isComplete(): boolean {
    return this.#waiting?.every(({ isPassing }) => !isPassing) ?? false;
  }

  /**
   * The first complete run enters the journal's requests; later runs enter only those that still wait. A request that
   * waits for a lock or fails delays no other. Rejects when the database fails.
   */
  async run(): Promise<void> {
    const waiting: WaitingRequest[] = [];
    const running = new Set<Promise<void>>();
    let hasBegun = false;
    const begin = async (entry: RequestEntry): Promise<void> => {
      if (!hasBegun) await this.#options.onMissing?.();
      hasBegun = true;
      if (running.size >= AT_ONCE) await Promise.race(running);
      const one: Promise<void> = this.#enter(entry, waiting).finally(() => running.delete(one));
      running.add(one);
    };
    try {
      for (const { entry } of this.#waiting ?? []) await begin(entry);
      if (this.#waiting === undefined) await this.#readJournal(begin);
    } finally {
      await Promise.all(running);
    }
    this.#waiting = waiting;
    for (const { entry } of waiting) this.#options.journal.add(entry);
    for (const { id } of await queryRows(this.#options.pool, Missing, SHORT, [this.#unchecked])) {
      const reason = "only part of the charge was taken: after the failover, the account has too little credit";
      this.#refused.push(requestNote(id, reason));
    }
    this.#unchecked = [];
  }

  async #readJournal(begin: (entry: RequestEntry) => Promise<void>): Promise<void> {
    const { pool, journal, lostSince } = this.#options;
    this.#refused = [];
    const begun = new Set<Uuid>();
    for await (const { entries, unread } of journal.read()) {
      if (unread > 0) this.#refused.push(unreadNote(unread));
      this.#refused.push(...gapNotes(entries, lostSince));
      const requests = entries.filter((entry): entry is RequestEntry => entry.kind === "request");
      for (let from = 0; from < requests.length; from += AT_ONCE) {
        const part = requests.slice(from, from + AT_ONCE);
        const missing = new Set((await queryRows(pool, Missing, MISSING, [part.map(idOf)])).map(({ id }) => id));
        for (const entry of part) {
          // A request that waited is in the journal several times.
          if (!missing.has(idOf(entry)) || begun.has(idOf(entry))) continue;
          begun.add(idOf(entry));
          await begin(entry);
        }
      }
    }
  }

  async #enter(entry: RequestEntry, waiting: WaitingRequest[]): Promise<void> {
    const { hold, settlement } = entry;
    try {
      if (hold !== undefined && !(await this.#restore(hold))) {
        waiting.push({ entry, reason: "its account does not exist in this history", isPassing: false });
        return;
      }
      const outcome = await this.#options.ledger.trySettling({ ...settlement, ...(hold && { hold }) });
      if (outcome === "given_up") {
        const reason = "the database refused the settlement; given-up.jsonl in the spool directory has the reason";
        this.#refused.push(requestNote(settlement.id, reason));
      } else if (outcome !== "repeated") {
        this.entered += 1;
        this.#unchecked.push(settlement.id);
      }
    } catch (error) {
      waiting.push({ entry, reason: error instanceof Error ? error.message : String(error), isPassing: true });
    }
  }

  /** Returns false if the request's account does not exist. */
  async #restore(hold: HoldOrder): Promise<boolean> {
    try {
      return (await this.#options.ledger.restore(hold)) !== "no_account";
    } catch (error) {
      // Settling the request fails in the same way, and the request is given up if that lasts.
      if (isDataFault(error)) return true;
      throw error;
    }
  }
}

const requestNote = (id: Uuid, reason: string): FailedReentry => ({ kind: "request", id: publicId("req", id), reason });

/** `tables` is null if the change is not entered yet, because of a locked row or another passing problem. */
const Entered = row({ id: column.uuid, tables: z.array(z.string()).nullable() });
const Waiting = row({ id: column.uuid, problem: z.string() });
const NEW =
  "select id from unnest($1::uuid[]) as c (id) where not exists (select from history_change h where h.id = c.id and h.problem is null)";
const WAITING =
  "select id, problem from history_change where id = any ($1::uuid[]) and problem is not null order by at";
/** Older changes are not entered, because the database has deleted the IDs that show whether they were lost. */
export const CHANGE_REENTRY_AGE_MS_MAX = 7 * DAY_MS;

interface ChangesOptions {
  client: Client;
  /**
   * This journal's changes that are entered or still wait are added to it again, in case another failover loses them.
   */
  journal: Pick<Journal, "read" | "add">;
  nowMs: number;
  /**
   * True: enters all changes, and reports those that fail. False: enters only changes that take no money from an
   * account. The others need the lost requests to be entered first.
   */
  isLast: boolean;
  /** The failover may have lost commits since this time (Unix milliseconds). */
  lostSince: number;
  /** Called before the changes are entered, if any is missing. */
  onMissing?: () => Promise<void>;
}

/**
 * Enters the changes that people, payment providers and operators made. Rejects when the database fails. Returns
 * whether any change was entered, and whether none is left that a further try may enter (for example after a locked
 * row).
 */
export async function reenterLostChanges(
  { client, journal, nowMs, isLast, lostSince, onMissing }: ChangesOptions,
  into: LostCommitsReentryResult,
): Promise<{ isEntered: boolean; isComplete: boolean }> {
  const changes = new Map<Uuid, { at: number; lines: string[] }>();
  for await (const { entries, unread } of journal.read()) {
    if (isLast && unread > 0) into.notEntered.push(unreadNote(unread));
    if (isLast) into.notEntered.push(...gapNotes(entries, lostSince));
    for (const entry of entries) {
      if (entry.kind !== "change") continue;
      const { id, at } = ChangeIdAndTime.parse(JSON.parse(entry.text));
      const change = changes.get(id);
      if (change === undefined) changes.set(id, { at, lines: [entry.text] });
      // A command broadcasts its changes to all gateways, so several journals of this directory may contain the same
      // line.
      else if (!change.lines.includes(entry.text)) change.lines.push(entry.text);
    }
  }
  const lost: { id: Uuid; at: number; lines: string[] }[] = [];
  for (const { id } of await queryRows(client, Missing, NEW, [[...changes.keys()]])) {
    const { at, lines } = changes.get(id) as { at: number; lines: string[] };
    if (at * 1000 > nowMs - CHANGE_REENTRY_AGE_MS_MAX) lost.push({ id, at, lines });
    else if (isLast) into.notEntered.push({ kind: "change", id, reason: "older than 7 days" });
  }
  lost.sort((a, b) => a.at - b.at);
  const journalAgain = (id: Uuid): void => {
    for (const text of changes.get(id)?.lines ?? []) journal.add({ kind: "change", text });
  };
  if (lost.length > 0) await onMissing?.();
  let isEntered = false;
  const again = new Set<Uuid>();
  // Each query commits one part of the changes, which stays entered if a later query takes too long. A query also
  // retries changes that could not be entered before, so one is sent even if no change was lost.
  for (let from = 0; from <= lost.length; from += AT_ONCE) {
    const part = lost.slice(from, from + AT_ONCE);
    const texts = part.map(({ id, at, lines }) => `{"id":"${id}","at":${at},"lines":[${lines.join(",")}]}`);
    const query = "select id, tables from history_enter($1, $2)";
    for (const { id, tables } of await queryRows(client, Entered, query, [`[${texts.join(",")}]`, isLast])) {
      if (tables === null) {
        again.add(id);
        continue;
      }
      again.delete(id);
      isEntered = true;
      journalAgain(id);
      for (const table of tables) count(into, table, 1);
    }
  }
  if (isLast)
    for (const { id, problem } of await queryRows(client, Waiting, WAITING, [lost.map(({ id }) => id)])) {
      into.notEntered.push({ kind: "change", id, reason: problem });
      journalAgain(id);
    }
  return { isEntered, isComplete: again.size === 0 };
}

/**
 * Deletes the IDs of changes that are too old to be re-entered. Keeps each ID one day longer, because clocks differ.
 */
export async function pruneChangeIds(pool: pg.Pool): Promise<void> {
  await pool.query("delete from history_change where at < now() - $1 * interval '1 millisecond'", [
    CHANGE_REENTRY_AGE_MS_MAX + DAY_MS,
  ]);
}

function count(into: LostCommitsReentryResult, what: string, by: number): void {
  if (by > 0) into.entered[what] = (into.entered[what] ?? 0) + by;
}

const unreadNote = (unread: number): FailedReentry => ({
  kind: "journal",
  id: `${unread} lines`,
  reason: "the journal has lines that are damaged, or that another version of the gateway wrote",
});

const GAPS: Record<JournalGap["reason"], string> = {
  size: "deleted because the journal reached its size limit",
  age: "deleted because they were older than REPLAY_WINDOW; this list may lack commits before the end of this time",
  unwritten: "could not be written to the disk",
};

/** Lists commits that the failover may have lost and that the journal does not have. */
const gapNotes = (entries: JournalEntry[], lostSince: number): FailedReentry[] =>
  entries
    .filter((entry): entry is JournalGap => entry.kind === "gap" && entry.to >= lostSince)
    .map(({ lines, from, to, reason }) => ({
      kind: "journal",
      id: `${lines} lines`,
      reason: `${GAPS[reason]}: ${new Date(from).toISOString()} to ${new Date(to).toISOString()}`,
    }));
