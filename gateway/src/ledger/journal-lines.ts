/**
 * The text format of the journal: one line per committed entry, with a checksum as in the spool. Lines contain no
 * prompts and no output.
 */
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import type { HoldOrder } from "./hold.ts";
import type { Settlement } from "./settlement-sql.ts";
import {
  HoldLine,
  holdToJson,
  SettlementLine,
  settlementToJson,
  verifyChecksums,
  withChecksum,
} from "./spool-lines.ts";

export type JournalEntry =
  /** `hold` is absent if the spool line from which the request was settled had none. */
  | { kind: "request"; hold?: HoldOrder; settlement: Settlement }
  /**
   * A changed row as the database's trigger described it (`journal_change.sql`). Kept as text, because amounts exceed
   * JavaScript's numbers.
   */
  | { kind: "change"; text: string }
  | JournalGap;

/** Why the journal lacks commits. `age`: they were older than REPLAY_WINDOW. */
const GAP_REASONS = ["size", "age", "unwritten"] as const;

/** Commits of a period (Unix milliseconds) that the journal does not have. */
export interface JournalGap {
  kind: "gap";
  lines: number;
  from: number;
  to: number;
  reason: (typeof GAP_REASONS)[number];
}

/** The version of the fields below. Lines of other versions are skipped and counted. */
const VERSION = 1;

const Line = z.discriminatedUnion("kind", [
  z.strictObject({
    j: z.literal(VERSION),
    kind: z.literal("request"),
    hold: HoldLine.optional(),
    settlement: SettlementLine,
  }),
  z.strictObject({ j: z.literal(VERSION), kind: z.literal("change"), text: z.string() }),
  z.strictObject({
    ...{ j: z.literal(VERSION), kind: z.literal("gap"), reason: z.enum(GAP_REASONS) },
    ...{ lines: z.int(), from: z.number(), to: z.number() },
  }),
]);

/** The fields that identify a change's transaction. */
export const ChangeIdAndTime = z.object({ id: z.uuid().transform((text) => text as Uuid), at: z.number() });

export function formatJournalLine(entry: JournalEntry): string {
  return withChecksum(JSON.stringify({ j: VERSION, ...written(entry) }));
}

function written(entry: JournalEntry): object {
  if (entry.kind !== "request") return entry;
  const { kind, hold, settlement } = entry;
  return { kind, ...(hold && { hold: holdToJson(hold) }), settlement: settlementToJson(settlement) };
}

/** Parses the lines. `unread` counts lines that are damaged or of another version. */
export function readJournal(text: string): { entries: JournalEntry[]; unread: number } {
  const { jsons, damaged } = verifyChecksums(text);
  const entries: JournalEntry[] = [];
  let unread = damaged;
  for (const json of jsons) {
    const { success, data } = Line.safeParse(JSON.parse(json));
    if (!success) unread += 1;
    else {
      const { j: _, ...entry } = data;
      entries.push(entry as JournalEntry);
    }
  }
  return { entries, unread };
}
