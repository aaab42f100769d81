/**
 * After a failover that lost recent commits, enters what this gateway's journals have and the database lacks. It can be repeated and
 * can run on several gateways at once: requests and grants are entered once by their IDs, and rows are compared first.
 */
import type pg from "pg";
import { z } from "zod";
import { publicId, type Uuid } from "../base/ids.ts";
import { provesBug } from "../db/errors.ts";
import { column, queryOne, queryRows, row } from "../db/rows.ts";
import type { Journal } from "./journal.ts";
import { JOURNALED_TABLES, type JournalEntry, type JournaledTable } from "./journal-lines.ts";
import type { Ledger } from "./ledger.ts";
import { restoreBatch } from "./restore.ts";

/** The batch size of the ledger. */
const AT_ONCE = 128;
/** After this long, an operator may have changed a row on purpose. Then it is only revoked or suspended. */
const FRESH = "5 minutes";

interface NotEntered {
  kind: JournalEntry["kind"] | "journal";
  id: string;
  reason: string;
}

export interface Reentry {
  /** The lost and re-entered items, by kind. */
  entered: Record<string, number>;
  notEntered: NotEntered[];
}

export const newReentry = (): Reentry => ({ entered: {}, notEntered: [] });

type RequestEntry = Extract<JournalEntry, { kind: "request" }>;
type RowEntry = Extract<JournalEntry, { kind: "row" }>;
type Client = pg.ClientBase | pg.Pool;

const Missing = row({ id: column.uuid });
/** A lease that expired in the new history does not count as an outcome, because the request was answered. */
const MISSING = `select o.id from unnest($1::uuid[]) as o (id)
  where not exists (select from request r where r.id = o.id and r.outcome <> 'gateway_lost')`;
const SHORT = "select id from request where id = any ($1::uuid[]) and short_pico > 0";

/** Enters every answered and charged request, in journal order. Rejects when the database fails. */
export async function enterRequests(
  { pool, ledger, journal }: { pool: pg.Pool; ledger: Pick<Ledger, "trySettling">; journal: Pick<Journal, "read"> },
  into: Reentry,
): Promise<void> {
  for await (const { entries, unread } of journal.read()) {
    noteUnread(into, unread);
    const requests = entries.filter((entry): entry is RequestEntry => entry.kind === "request");
    for (let from = 0; from < requests.length; from += AT_ONCE) {
      const part = requests.slice(from, from + AT_ONCE);
      const missing = new Set(
        (await queryRows(pool, Missing, MISSING, [part.map(({ hold }) => hold.id)])).map(({ id }) => id),
      );
      await enterPart(
        { pool, ledger },
        part.filter(({ hold }) => missing.has(hold.id)),
        into,
      );
    }
  }
}

async function enterPart(
  { pool, ledger }: { pool: pg.Pool; ledger: Pick<Ledger, "trySettling"> },
  part: RequestEntry[],
  into: Reentry,
): Promise<void> {
  if (part.length === 0) return;
  const note = (id: Uuid, reason: string): number =>
    into.notEntered.push({ kind: "request", id: publicId("req", id), reason });
  const restored = await restoreBatch(
    pool,
    part.map(({ hold }) => hold),
  );
  const due = part.filter(({ hold }, i) => {
    if (restored[i] === "no_account") note(hold.id, "its account does not exist in this history");
    return restored[i] !== "no_account";
  });
  const outcomes = await Promise.all(due.map(({ settlement }) => ledger.trySettling(settlement)));
  const entered: Uuid[] = [];
  for (const [i, outcome] of outcomes.entries()) {
    const { id } = (due[i] as RequestEntry).hold;
    if (outcome === "given_up")
      note(id, "the database refused it; given-up.jsonl in the spool directory has the reason");
    else if (outcome !== "repeated") entered.push(id);
  }
  for (const { id } of await queryRows(pool, Missing, SHORT, [entered])) {
    note(id, "charged in part only: the account has too little credit after the failover");
  }
  count(into, "requests", entered.length);
}

const Code = row({ code: z.int() });

interface ChangesOptions {
  client: Client;
  journal: Pick<Journal, "read">;
  epoch: string;
  /** Notifies other gateways, which may have cached the row's absence. */
  tell: (table: JournaledTable, id: string) => Promise<void>;
}

/** Enters grants, and the latest rows of keys, tokens and accounts. Rejects when the database fails. */
export async function enterChanges({ journal, ...entering }: ChangesOptions, into: Reentry): Promise<void> {
  const { client } = entering;
  const rows = new Map<string, RowEntry>();
  for await (const { entries, unread } of journal.read()) {
    noteUnread(into, unread);
    for (const entry of entries) {
      if (entry.kind === "grant") {
        await attempt(into, { kind: "grant", id: publicId("acc", entry.accountId) }, async () => {
          const { id, kind, accountId, amount, reason } = entry;
          const transfer = [id, kind, accountId, amount.toString(), reason];
          const { code } = await queryOne(client, Code, "select ledger_transfer($1, $2, $3, $4, $5) as code", transfer);
          if (code === 1) count(into, "grants", 1);
          return code < 0 ? "its account does not exist in this history" : undefined;
        });
      } else if (entry.kind === "row") rows.set(`${entry.table} ${String(entry.row["id"])}`, entry);
    }
  }
  for (const table of JOURNALED_TABLES) {
    const wanted = [...rows.values()].filter((entry) => entry.table === table);
    const found = await imagesOf(entering, table, wanted);
    for (const entry of wanted) {
      const id = String(entry.row["id"]);
      const { changed, reason } = rowChange(entry, found.get(id));
      await attempt(into, { kind: "row", id: `${table} ${id}` }, async () => {
        if (changed.length > 0) await enterRow(entering, entry, { isThere: found.has(id), changed });
        if (changed.length > 0) count(into, table, 1);
        return reason;
      });
    }
  }
}

const Image = row({ id: column.uuid, image: column.json, xmin: z.number(), isFresh: z.boolean() });

/** In parallel, because requests wait for the heartbeat that calls this. */
async function imagesOf(
  { client, epoch }: Pick<ChangesOptions, "client" | "epoch">,
  table: JournaledTable,
  wanted: RowEntry[],
): Promise<Map<string, z.infer<typeof Image>>> {
  if (wanted.length === 0) return new Map();
  const found = await queryRows(
    client,
    Image,
    `select t.id, to_jsonb(t) as image, t.xmin::text::float8 as xmin, h.began_at > now() - interval '${FRESH}' as "isFresh"
       from ${table} t, ledger_history h where t.id = any ($1::uuid[]) and h.epoch = $2`,
    [wanted.map((entry) => entry.row["id"]), epoch],
  );
  return new Map(found.map((image) => [image.id, image]));
}

/** This column changes with every use. */
const UNIMPORTANT = new Set(["last_used_at"]);
/** A key whose revocation was lost is revoked again, whatever happened to it since. */
const ENDS: Record<JournaledTable, string> = {
  account: "suspended_at",
  api_key: "revoked_at",
  host_token: "revoked_at",
};

interface Change {
  isThere: boolean;
  changed: string[];
}

async function enterRow(
  { client, tell }: Omit<ChangesOptions, "journal" | "epoch">,
  { table, row: wanted }: RowEntry,
  { isThere, changed }: Change,
): Promise<void> {
  if (isThere) {
    const columns = changed.map((name) => `"${name}"`).join(", ");
    await client.query(
      `update ${table} t set (${columns}) = (select ${columns} from jsonb_populate_record(null::${table}, $1)) where t.id = $2`,
      [wanted, wanted["id"]],
    );
  } else await client.query(`insert into ${table} select (jsonb_populate_record(null::${table}, $1)).*`, [wanted]);
  if (table === "api_key" && changed.some((name) => name.startsWith("budget_")))
    await client.query(
      "select key_budget_set(account_id, id, budget_day_pico, budget_month_pico) from api_key where id = $1",
      [wanted["id"]],
    );
  await tell(table, String(wanted["id"]));
}

/**
 * Returns the columns of a row to enter again. A row written by a later transaction than the journal's was not lost and stays as it is.
 * Pure.
 */
export function rowChange(
  { table, row: wanted, xmin }: Pick<RowEntry, "table" | "row" | "xmin">,
  found: Omit<z.infer<typeof Image>, "id"> | undefined,
): { changed: string[]; reason?: string } {
  if (found === undefined) return { changed: Object.keys(wanted) };
  const { image, isFresh } = found;
  const different = Object.keys(image).filter(
    (name) => name in wanted && !UNIMPORTANT.has(name) && JSON.stringify(image[name]) !== JSON.stringify(wanted[name]),
  );
  const end = ENDS[table];
  const ended = image[end] === null && wanted[end] !== null ? [end] : [];
  // Transaction IDs wrap around, so their distance decides which is older.
  const isLost = ((found.xmin - xmin) | 0) < 0;
  if (!isLost || different.length === 0) return { changed: ended };
  if (isFresh) return { changed: different };
  const left = different.filter((name) => !ended.includes(name));
  if (left.length === 0) return { changed: ended };
  return { changed: ended, reason: `the failover is too long ago to overwrite ${left.join(", ")}` };
}

/** Records items that can never be entered, and continues with the rest. */
async function attempt(
  into: Reentry,
  subject: Pick<NotEntered, "kind" | "id">,
  enter: () => Promise<string | undefined>,
): Promise<void> {
  let reason: string | undefined;
  try {
    reason = await enter();
  } catch (error) {
    if (!provesBug(error)) throw error;
    reason = (error as Error).message;
  }
  if (reason !== undefined) into.notEntered.push({ ...subject, reason });
}

function count(into: Reentry, what: string, by: number): void {
  if (by > 0) into.entered[what] = (into.entered[what] ?? 0) + by;
}

function noteUnread(into: Reentry, unread: number): void {
  if (unread > 0)
    into.notEntered.push({ kind: "journal", id: `${unread} lines`, reason: "damaged, or written by another version" });
}
