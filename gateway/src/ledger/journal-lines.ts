/** The text format of the journal: checksummed lines like the spool's, one per committed entry. It contains no prompts and no output. */
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";
import type { HoldOrder } from "./hold.ts";
import type { Settlement } from "./settlement.ts";
import { HoldLine, jsonValues, SettlementLine, withChecksum, withoutChecksum, writableHold } from "./spool-lines.ts";

/** Tables whose rows the journal records after each change. */
export const JOURNALED_TABLES = ["account", "api_key", "host_token"] as const;
export type JournaledTable = (typeof JOURNALED_TABLES)[number];

export type JournalEntry =
  | { kind: "request"; hold: HoldOrder; settlement: Settlement }
  | { kind: "grant"; id: Uuid; accountId: Uuid; amount: Pico; reason: string }
  /** `xmin`: the transaction that wrote the row. */
  | { kind: "row"; table: JournaledTable; xmin: number; row: Record<string, unknown> };

/** Version of the fields below. Lines of other versions are skipped and counted. */
const VERSION = 1;
const id = z.uuid().transform((text) => text as Uuid);
const amount = z
  .string()
  .regex(/^\d+$/)
  .transform((text): Pico => pico(BigInt(text)));

const Line = z.discriminatedUnion("kind", [
  z.strictObject({ j: z.literal(VERSION), kind: z.literal("request"), hold: HoldLine, settlement: SettlementLine }),
  z.strictObject({ j: z.literal(VERSION), kind: z.literal("grant"), id, accountId: id, amount, reason: z.string() }),
  z.strictObject({
    j: z.literal(VERSION),
    kind: z.literal("row"),
    table: z.enum(JOURNALED_TABLES),
    xmin: z.int(),
    row: z.record(z.string(), z.unknown()),
  }),
]);

export function journalLine(entry: JournalEntry): string {
  return withChecksum(JSON.stringify({ j: VERSION, ...written(entry) }));
}

function written(entry: JournalEntry): object {
  if (entry.kind === "row") return entry;
  if (entry.kind === "grant") return { ...entry, amount: entry.amount.toString() };
  const { kind, hold, settlement } = entry;
  return { kind, hold: writableHold(hold), settlement: jsonValues(settlement) };
}

/** `unread`: damaged, or of another version. */
export function readJournal(text: string): { entries: JournalEntry[]; unread: number } {
  const { jsons, damaged } = withoutChecksum(text);
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
