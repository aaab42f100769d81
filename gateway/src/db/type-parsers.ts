/**
 * Defines how database values are parsed. Amounts are `bigint` and `numeric` in the database and must never become
 * JavaScript numbers.
 */
import pg from "pg";

const OID = {
  int8: 20,
  int8Array: 1016,
  textArray: 1009,
  date: 1082,
  dateArray: 1182,
  numeric: 1700,
  numericArray: 1231,
} as const;

type Parser = (value: string) => unknown;
/** Parses an array's elements as text. Keeps nulls and nested arrays. */
const strings = pg.types.getTypeParser(OID.textArray as number) as Parser;

/** Parsers by type OID. Other types use pg's own parsers: timestamptz becomes a Date. */
const PARSERS = new Map<number, Parser>([
  [OID.int8, BigInt],
  [OID.int8Array, (value) => mapNested(strings(value), BigInt)],
  // Sums may exceed 64 bits. A fraction is refused instead of rounded.
  [OID.numeric, whole],
  [OID.numericArray, (value) => mapNested(strings(value), whole)],
  // Kept as text, because pg would turn a calendar day into midnight of the local time zone.
  [OID.date, String],
  [OID.dateArray, strings],
]);

/** Given to each pool, because pg's own registry of parsers is global to the process. */
export const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: "text" | "binary") => {
  const own = format === "binary" ? undefined : PARSERS.get(oid);
  return own ?? pg.types.getTypeParser(oid, format as "text");
};

function whole(text: string): bigint {
  if (!/^-?\d+$/.test(text)) throw new Error(`The numeric ${text} is not a whole number: cast it to text or float8.`);
  return BigInt(text);
}

function mapNested(value: unknown, map: (text: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => mapNested(item, map));
  return value === null ? null : map(String(value));
}
