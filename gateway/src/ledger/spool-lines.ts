/**
 * The text format of the spool (settlements on disk): one JSON line per settlement, after a checksum. A crash can cut
 * off only the last line, which was never confirmed. Any other line with a wrong checksum was damaged later. Amounts
 * are strings, because they can exceed JSON numbers. Lines contain no prompts and no output.
 */
import { crc32 } from "node:zlib";
import { z } from "zod";
import type { Uuid } from "../base/ids.ts";
import { type Pico, pico } from "../base/money.ts";
import { ENDPOINTS, FINISH_REASONS, REQUEST_OUTCOMES, WITHHELD_REASONS } from "../base/stored-enumerations.ts";
import type { HoldOrder } from "./hold.ts";
import type { Settlement } from "./settlement-sql.ts";

/**
 * The version of the fields below. Lines of newer versions, and lines with unknown fields, are left for newer gateways.
 */
const VERSION = 1;

const id = z.uuid().transform((text) => text as Uuid);
const count = z.int().nonnegative();

const amount = z
  .string()
  .regex(/^\d+$/)
  .transform((text): Pico => pico(BigInt(text)));

export const HoldLine = z.strictObject({
  id,
  accountId: id,
  amount,
  keyId: id,
  keyName: z.string(),
  endpoint: z.enum(ENDPOINTS),
  model: z.string(),
  build: z.string(),
  tokenizer: z.string(),
  stream: z.boolean(),
  promptTokens: z.int(),
  priceVersion: z.int(),
  client: z.string(),
  label: z.string().nullable().optional(),
}) as z.ZodType<HoldOrder>;

/** The schema of a settlement's line. */
export const SettlementLine = z
  .strictObject({
    v: z.literal(VERSION),
    id,
    accountId: id,
    nodeId: id.nullable(),
    paidHostId: id.nullable(),
    /** Absent in lines of older gateways, which did not withhold shares. */
    withheld: z.strictObject({ hostId: id, reason: z.enum(WITHHELD_REASONS) }).optional(),
    charge: amount,
    outcome: z.enum(REQUEST_OUTCOMES),
    httpStatus: count,
    finishReason: z.enum(FINISH_REASONS).nullable(),
    completionTokens: count,
    reasoningTokens: count,
    attempts: count,
    queueMs: count.nullable(),
    ttftMs: count.nullable(),
    durationMs: count,
    /** Absent in lines of older gateways, which could not record a lost hold again. */
    hold: HoldLine.optional(),
  })
  .transform(
    ({ v: _version, withheld, hold, ...settlement }): Settlement => ({
      ...settlement,
      ...(withheld && { withheld }),
      ...(hold && { hold }),
    }),
  );

export const formatSettlementLine = (settlement: Settlement): string =>
  withChecksum(JSON.stringify(settlementToJson(settlement)));

/** Returns the line for a JSON text, starting with its checksum. */
export const withChecksum = (json: string): string => `${checksum(json)} ${json}\n`;

/** Converts a settlement to JSON-compatible values. */
export function settlementToJson(settlement: Settlement): object {
  const { withheld, hold, ...rest } = settlement;
  return {
    v: VERSION,
    ...rest,
    ...(withheld != null && { withheld }),
    charge: settlement.charge.toString(),
    ...(hold && { hold: holdToJson(hold) }),
  };
}

export const holdToJson = (hold: HoldOrder): object => ({ ...hold, amount: hold.amount.toString() });

interface SpoolText {
  settlements: Settlement[];
  /** The number of lines with a wrong checksum. The last line does not count. */
  damaged: number;
  /** The number of complete lines of an unknown version. */
  foreign: number;
}

export function readLines(text: string): SpoolText {
  const read: SpoolText = { settlements: [], damaged: 0, foreign: 0 };
  const { jsons, damaged } = verifyChecksums(text);
  read.damaged = damaged;
  for (const json of jsons) {
    const settlement = settlementOf(json);
    if (settlement === undefined) read.foreign += 1;
    else read.settlements.push(settlement);
  }
  return read;
}

export function verifyChecksums(text: string): { jsons: string[]; damaged: number } {
  const jsons: string[] = [];
  let damaged = 0;
  const lines = text.split("\n");
  // Drops text after the last line end, whose write was not confirmed.
  lines.pop();
  for (const [i, line] of lines.entries()) {
    const json = line.slice(9);
    if (line.slice(0, 8) === checksum(json)) jsons.push(json);
    else if (i < lines.length - 1) damaged += 1;
  }
  return { jsons, damaged };
}

function settlementOf(json: string): Settlement | undefined {
  try {
    return SettlementLine.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, "0");
