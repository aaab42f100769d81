/**
 * A statement that is sent over and over: every request's hold and settlement are such. The server prepares it once for a connection,
 * as with any query of pg's that has a name, and describes its columns once too; pg asks for that with every call and makes parsers of
 * it again. What is sent is one write. For pools alone: a client gives no promise of it.
 */
import type pg from "pg";
import { getTypeParser } from "./types.ts";

interface Column {
  name: string;
  parse: (text: string) => unknown;
}

type Done = (error: Error | null, result?: { rows: unknown[] }) => void;

/** By connection, and there by name. A prepared statement keeps its columns: where they would change the server refuses it. */
const described = new WeakMap<pg.Connection, Map<string, Column[]>>();

/** What pg knows of a connection's prepared statements: those that the server has confirmed, and those on their way. */
interface Statements {
  parsedStatements: Record<string, string>;
  submittedNamedStatements: Record<string, string>;
}

/** pg calls these methods as the server's messages come in. */
export class PreparedQuery implements pg.Submittable {
  readonly name: string;
  readonly text: string;
  readonly #bind: string;
  /** Set by pg. */
  callback: Done | undefined = undefined;
  readonly #rows: unknown[] = [];
  #columns: Column[] | undefined;
  #connection: pg.Connection | undefined;
  #failure: Error | undefined;

  constructor({ name, text }: { name: string; text: string }, values: unknown[]) {
    this.name = name;
    this.text = text;
    this.#bind = bind(name, values);
  }

  submit(connection: pg.Connection): null {
    const { name, text } = this;
    const { parsedStatements, submittedNamedStatements } = connection as pg.Connection & Statements;
    const { stream } = connection;
    this.#connection = connection;
    this.#columns = described.get(connection)?.get(name);
    const isNew = parsedStatements[name] === undefined && submittedNamedStatements[name] === undefined;
    if (isNew) submittedNamedStatements[name] = text;
    // Of one that broke the client hears by itself.
    if (stream.writable)
      stream.write(
        (isNew ? parse(name, text) : "") +
          this.#bind +
          (this.#columns === undefined ? DESCRIBE_EXECUTE_SYNC : EXECUTE_SYNC),
        "latin1",
      );
    return null;
  }

  handleRowDescription({ fields }: { fields: pg.FieldDef[] }): void {
    const connection = this.#connection as pg.Connection;
    const columns = fields.map(({ name, dataTypeID }) => ({ name, parse: getTypeParser(dataTypeID, "text") }));
    this.#columns = columns;
    const known = described.get(connection) ?? new Map<string, Column[]>();
    described.set(connection, known.set(this.name, columns));
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
      // Told when the connection is ready for the next.
      this.#failure = error as Error;
    }
  }

  handleReadyForQuery(): void {
    if (this.#failure === undefined) this.callback?.(null, { rows: this.#rows });
    else this.callback?.(this.#failure);
  }

  handleError(error: Error): void {
    this.callback?.(error);
  }

  /** What comes besides tells nothing that the rows do not. */
  handleCommandComplete(): void {}
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
}

// Messages of the protocol, a character for each byte.

const DESCRIBE = message("D", "P\0");
const EXECUTE_SYNC = message("E", `\0${int32(0)}`) + message("S", "");
const DESCRIBE_EXECUTE_SYNC = DESCRIBE + EXECUTE_SYNC;

/** The types of the parameters are left to the server. */
function parse(name: string, text: string): string {
  return message("P", `${bytesOf(name)}\0${bytesOf(text)}\0${int16(0)}`);
}

/** All in text, and all results too. */
function bind(name: string, values: unknown[]): string {
  let body = `\0${bytesOf(name)}\0${int16(0)}${int16(values.length)}`;
  for (const value of values) body += parameter(value);
  return message("B", body + int16(0));
}

function parameter(value: unknown): string {
  if (value === null || value === undefined) return int32(-1);
  if (typeof value === "object" || typeof value === "function")
    throw new TypeError("a prepared query takes texts, numbers and truth values");
  const bytes = bytesOf(String(value));
  return int32(bytes.length) + bytes;
}

/** The length counts itself. */
function message(kind: string, body: string): string {
  return kind + int32(body.length + 4) + body;
}

function int16(value: number): string {
  return String.fromCharCode((value >> 8) & 255, value & 255);
}

function int32(value: number): string {
  return String.fromCharCode((value >> 24) & 255, (value >> 16) & 255, (value >> 8) & 255, value & 255);
}

/** UTF-8. What has as many bytes as characters is that already. */
function bytesOf(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString("latin1");
}
