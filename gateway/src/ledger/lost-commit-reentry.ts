/**
 * Re-entry: after a failover that lost recent commits, enters the requests and changes that this gateway's journals
 * have and the database lacks. Re-entry can be repeated and can run on several gateways at once, because each request
 * or change has an ID and is entered once.
 */
import type pg from "pg";
import { z } from "zod";
import { publicId, type Uuid } from "../base/ids.ts";
import { DAY_MS } from "../base/time.ts";
import { column, queryRows, row } from "../db/rows.ts";
import type { Journal } from "./journal.ts";
import { ChangeIdAndTime, type JournalEntry } from "./journal-lines.ts";
import type { Ledger } from "./ledger.ts";
import { restoreLostRequests } from "./restore-lost-requests.ts";

/** The batch size of the ledger. */
const AT_ONCE = 128;

interface NotEntered {
  kind: JournalEntry["kind"] | "journal";
  id: string;
  reason: string;
}

export interface LostCommitsReentryResult {
  /** How many lost items were entered again, by kind. */
  entered: Record<string, number>;
  notEntered: NotEntered[];
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

/**
 * Enters every answered request that the database lacks, in the order of the journal. Rejects when the database fails.
 */
export async function reenterLostRequests(
  { pool, ledger, journal }: { pool: pg.Pool; ledger: Pick<Ledger, "trySettling">; journal: Pick<Journal, "read"> },
  into: LostCommitsReentryResult,
): Promise<void> {
  for await (const { entries, unread } of journal.read()) {
    noteUnread(into, unread);
    const requests = entries.filter((entry): entry is RequestEntry => entry.kind === "request");
    for (let from = 0; from < requests.length; from += AT_ONCE) {
      const part = requests.slice(from, from + AT_ONCE);
      const missing = new Set((await queryRows(pool, Missing, MISSING, [part.map(idOf)])).map(({ id }) => id));
      await enterPart(
        { pool, ledger },
        part.filter((entry) => missing.has(idOf(entry))),
        into,
      );
    }
  }
}

async function enterPart(
  { pool, ledger }: { pool: pg.Pool; ledger: Pick<Ledger, "trySettling"> },
  part: RequestEntry[],
  into: LostCommitsReentryResult,
): Promise<void> {
  if (part.length === 0) return;
  const note = (id: Uuid, reason: string): number =>
    into.notEntered.push({ kind: "request", id: publicId("req", id), reason });
  const holds = part.flatMap(({ hold }) => hold ?? []);
  const restored = await restoreLostRequests(pool, holds);
  const accountless = new Set(holds.filter((_, i) => restored[i] === "no_account").map(({ id }) => id));
  for (const id of accountless) note(id, "its account does not exist in this history");
  const due = part.filter((entry) => !accountless.has(idOf(entry)));
  const outcomes = await Promise.all(
    due.map(({ hold, settlement }) => ledger.trySettling({ ...settlement, ...(hold && { hold }) })),
  );
  const entered: Uuid[] = [];
  for (const [i, outcome] of outcomes.entries()) {
    const { id } = (due[i] as RequestEntry).settlement;
    if (outcome === "given_up")
      note(id, "the database refused the settlement; given-up.jsonl in the spool directory has the reason");
    else if (outcome !== "repeated") entered.push(id);
  }
  for (const { id } of await queryRows(pool, Missing, SHORT, [entered])) {
    note(id, "only part of the charge was taken: after the failover, the account has too little credit");
  }
  count(into, "requests", entered.length);
}

const Entered = row({ id: column.uuid, tables: z.array(z.string()) });
const Waiting = row({ id: column.uuid, problem: z.string() });
const NEW =
  "select id from unnest($1::uuid[]) as c (id) where not exists (select from history_change h where h.id = c.id and h.problem is null)";
const WAITING =
  "select id, problem from history_change where id = any ($1::uuid[]) and problem is not null order by at";
/** Older changes are not entered, because the database has deleted the IDs that show whether they were lost. */
export const CHANGE_REENTRY_AGE_MS_MAX = 7 * DAY_MS;

interface ChangesOptions {
  client: Client;
  /** Also gets the changes of its own that are entered or wait, in case another failover loses them again. */
  journal: Pick<Journal, "read" | "add">;
  nowMs: number;
  /**
   * True: enters all changes, and reports those that fail. False: enters only changes that take no money from an
   * account. The others need the lost requests to be entered first.
   */
  isLast: boolean;
}

/**
 * Enters the changes that people, payment providers and operators made. Rejects when the database fails. Returns
 * whether any change was entered.
 */
export async function reenterLostChanges(
  { client, journal, nowMs, isLast }: ChangesOptions,
  into: LostCommitsReentryResult,
): Promise<boolean> {
  const changes = new Map<Uuid, { at: number; lines: string[] }>();
  for await (const { entries, unread } of journal.read()) {
    if (isLast) noteUnread(into, unread);
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
  let isEntered = false;
  // Each query commits one part of the changes, which stays entered if a later query takes too long. A query also
  // retries changes that could not be entered before, so one is sent even if no change was lost.
  for (let from = 0; from <= lost.length; from += AT_ONCE) {
    const part = lost.slice(from, from + AT_ONCE);
    const texts = part.map(({ id, at, lines }) => `{"id":"${id}","at":${at},"lines":[${lines.join(",")}]}`);
    const query = "select id, tables from history_enter($1, $2)";
    for (const { id, tables } of await queryRows(client, Entered, query, [`[${texts.join(",")}]`, isLast])) {
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
  return isEntered;
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

function noteUnread(into: LostCommitsReentryResult, unread: number): void {
  if (unread > 0)
    into.notEntered.push({
      kind: "journal",
      id: `${unread} lines`,
      reason: "these journal lines are damaged, or were written by another version of the gateway",
    });
}
