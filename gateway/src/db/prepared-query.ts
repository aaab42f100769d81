/**
 * A query with a prepared statement, for statements that every request runs, such as holding and settling. The server
 * prepares the statement and describes its columns once per connection. With pg's own queries, it would describe them
 * at each call. All messages of a call are one write. For pools only. Uses pg's public interface `Submittable`, like
 * pg-cursor, and the connection's stream.
 */
import type pg from "pg";
import { getTypeParser } from "./type-parsers.ts";

interface Column {
  name: string;
  parse: (text: string) => unknown;
}

type Done = (error: Error | null, result?: { rows: unknown[] }) => void;

/** The prepared statements of each connection by name, with their columns. */
const prepared = new WeakMap<pg.Connection, Map<string, Column[]>>();

/** Error codes: the server has lost the statement, or refuses it because its columns changed. */
const IS_STALE = new Set(["26000", "0A000"]);

/** pg calls these methods for the server's messages. */
export class PreparedQuery implements pg.Submittable {
  /** The statement's key. Not called `name`, because pg would then track the statement as its own. */
  readonly statement: string;
  /**
   * The name of the statement on the server: `statement` with a prefix, because pg itself may prepare the same query
   * under the name without the prefix on the same client.
   */
  readonly #name: string;
  readonly #text: string;
  readonly #bind: string;
  /** Set by pg. */
  callback: Done | undefined = undefined;
  readonly #rows: unknown[] = [];
  #known: Map<string, Column[]> | undefined;
  #columns: Column[] | undefined;
  #isNew = false;
  #failure: Error | undefined;

  constructor({ name, text }: { name: string; text: string }, values: unknown[]) {
    this.statement = name;
    this.#name = `+${name}`;
    this.#text = text;
    this.#bind = bind(this.#name, values);
  }

  submit(connection: pg.Connection): null {
    const { stream } = connection;
    this.#known = prepared.get(connection);
    if (this.#known === undefined) {
      this.#known = new Map();
      prepared.set(connection, this.#known);
    }
    this.#columns = this.#known.get(this.#name);
    this.#isNew = this.#columns === undefined;
    // Sends nothing on a broken stream. The client reports it.
    if (stream.writable)
      stream.write(
        this.#isNew ? prepare(this.#name, this.#text) + this.#bind + DESCRIBE_EXECUTE_SYNC : this.#bind + EXECUTE_SYNC,
        "latin1",
      );
    return null;
  }

  handleRowDescription({ fields }: { fields: pg.FieldDef[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: getTypeParser(dataTypeID, "text") }));
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const columns = this.#columns ?? [];
    const row: Record<string, unknown> = {};
    try {
      for (let i = 0; i < columns.length; i++) {
        const { name, parse } = columns[i] as Column;
        const text = fields[i] as string | null;
        row[name] = text === null ? null : parse(text);
      }
      this.#rows.push(row);
    } catch (error) {
      // Reported later, when the connection is ready for the next query.
      this.#failure = error as Error;
    }
  }

  handleReadyForQuery(): void {
    if (this.#failure === undefined) this.callback?.(null, { rows: this.#rows });
    else this.callback?.(this.#failure);
  }

  handleError(error: Error & { code?: string }): void {
    if (IS_STALE.has(error.code ?? "")) this.#known?.delete(this.#name);
    this.callback?.(error);
  }

  handleCommandComplete(): void {
    if (this.#isNew) this.#known?.set(this.#name, this.#columns ?? []);
  }

  /** pg calls these methods for messages without rows. */
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
}

// Protocol messages, as strings with one character per byte.

const DESCRIBE = message("D", "P\0");
const EXECUTE_SYNC = message("E", `\0${int32(0)}`) + message("S", "");
const DESCRIBE_EXECUTE_SYNC = DESCRIBE + EXECUTE_SYNC;

/**
 * Prepares the statement. Closes it first, because a failed first call may have left it prepared, and closing an
 * unknown statement is no error. The server infers the parameter types.
 */
function prepare(name: string, text: string): string {
  return message("C", `S${bytesOf(name)}\0`) + message("P", `${bytesOf(name)}\0${bytesOf(text)}\0${int16(0)}`);
}

/** Parameters and results are in text format. */
function bind(name: string, values: unknown[]): string {
  let body = `\0${bytesOf(name)}\0${int16(0)}${int16(values.length)}`;
  for (const value of values) body += parameter(value);
  return message("B", body + int16(0));
}

function parameter(value: unknown): string {
  if (value === null || value === undefined) return int32(-1);
  if (typeof value === "object" || typeof value === "function")
    throw new TypeError("a prepared query accepts only strings, numbers and booleans");
  const bytes = bytesOf(String(value));
  return int32(bytes.length) + bytes;
}

/** The length field includes its own four bytes. */
function message(kind: string, body: string): string {
  return kind + int32(body.length + 4) + body;
}

function int16(value: number): string {
  return String.fromCharCode((value >> 8) & 255, value & 255);
}

function int32(value: number): string {
  return String.fromCharCode((value >> 24) & 255, (value >> 16) & 255, (value >> 8) & 255, value & 255);
}

/** Encodes text as UTF-8, with one character per byte. ASCII text is returned unchanged. */
function bytesOf(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString("latin1");
}
