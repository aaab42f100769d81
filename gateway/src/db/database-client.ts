/**
 * Connects to the database of a URL. With several hosts, it uses the first that accepts writes, until a connection to
 * that host fails. With `sslmode` allow or prefer, it tries each host with and without TLS. Behind a pooler, it sends
 * session settings after connecting, because poolers refuse or drop startup options.
 */
import { readFile } from "node:fs/promises";
import type { ConnectionOptions } from "node:tls";
import pg from "pg";
import { z } from "zod";
import { invariant } from "../base/invariant.ts";
import { type DatabaseAddress, parseDatabaseUrl, type SslMode } from "./database-url.ts";
import { queryOne, row } from "./rows.ts";
import { isStartupOptionsRefusal } from "./startup-options-refused.ts";

/** The timeout for testing one host when the URL has several. */
const LOOK_MS_MAX = 2_000;

interface Place {
  host: string | undefined;
  port: number | undefined;
  isSecure: boolean;
}

/** The state of a URL's hosts, shared by all connections that use the URL. */
export class DatabaseHosts {
  readonly address: DatabaseAddress;
  /** Whether a pooler is in front of the server. Undefined before the first connection. */
  isPooled: boolean | undefined;
  /** An additional check of a server that accepts writes. Throws when the server must not be used. */
  suits: ((client: pg.Client) => Promise<void>) | undefined;
  #places: Place[];
  #current: Place | undefined;
  #looking: Promise<Place> | undefined;

  constructor(address: DatabaseAddress) {
    this.address = address;
    const ways = WAYS[this.sslMode];
    this.#places = address.hosts.flatMap((at) =>
      (at.host?.startsWith("/") ? [false] : ways).map((isSecure) => ({ ...at, isSecure })),
    );
  }

  /**
   * If the URL has no sslmode, the environment variable PGSSLMODE applies as in pg: any value but disable and no-verify
   * verifies the certificate fully.
   */
  get sslMode(): SslMode {
    if (this.address.ssl.mode !== undefined) return this.address.ssl.mode;
    const { ssl } = new pg.Client() as { ssl: unknown };
    return ssl === true ? "verify-full" : ssl ? "require" : "disable";
  }

  /** Whether read-only servers are skipped. */
  get isChoosy(): boolean {
    return this.address.hosts.length > 1 || this.address.target !== "any";
  }

  /** Returns the host to use. `look` makes a test connection and rejects when the host is unsuitable. */
  async choose(look: (place: Place) => Promise<void>): Promise<Place> {
    const [first, ...others] = this.#places;
    invariant(first !== undefined, "a database URL has a host");
    if (others.length === 0) return first;
    if (this.#current !== undefined) return this.#current;
    this.#looking ??= this.#look(look).finally(() => {
      this.#looking = undefined;
    });
    return await this.#looking;
  }

  /** Moves this host to the end of the list, because it may answer and still be unusable. */
  failed(place: Place): void {
    if (this.#current !== place) return;
    this.#current = undefined;
    const isThere = ({ host, port }: Place): boolean => host === place.host && port === place.port;
    this.#places = [...this.#places.filter((one) => !isThere(one)), ...this.#places.filter(isThere)];
  }

  async #look(look: (place: Place) => Promise<void>): Promise<Place> {
    const reasons: string[] = [];
    let last: unknown;
    for (const place of this.#places) {
      try {
        await look(place);
        this.#current = place;
        return place;
      } catch (error) {
        last = error;
        reasons.push(`${place.host ?? "localhost"}:${place.port ?? 5432}: ${wordsOf(error)}`);
      }
    }
    throw new NoUsableHost([...new Set(reasons)].join("; "), { cause: last });
  }
}

const WAYS: Record<SslMode, boolean[]> = {
  disable: [false],
  allow: [false, true],
  prefer: [true, false],
  require: [true],
  "verify-ca": [true],
  "verify-full": [true],
};

class NoUsableHost extends Error {
  override name = "NoUsableHost";
  /** PostgreSQL's code for a connection that could not be made. */
  readonly code = "08001";
  constructor(reasons: string, options: ErrorOptions) {
    super(`no host of the database URL can be used (${reasons})`, options);
  }
}

/** The server answers but accepts no writes at the moment. */
export class WritesRefusedError extends Error {
  override name = "TakesNoWrites";
  readonly code = "25006";
  readonly what: string;
  readonly remedy: string;
  constructor(what: string, remedy: string) {
    super(what);
    this.what = what;
    this.remedy = remedy;
  }
}

export function assertAcceptsWrites({ isStandby, readOnly }: { isStandby: boolean; readOnly: boolean }): void {
  if (isStandby)
    throw new WritesRefusedError(
      "the database is a standby: it takes no writes",
      "set DATABASE_URL to the primary, or list all PostgreSQL servers in it",
    );
  if (readOnly)
    throw new WritesRefusedError(
      "the database is read-only",
      "set default_transaction_read_only = off for the database and its role",
    );
}

/** Rejects with `WritesRefusedError` if the server accepts no writes. */
export async function checkAcceptsWrites(client: pg.ClientBase | pg.Pool): Promise<void> {
  assertAcceptsWrites(await queryOne(client, ServerState, STATE));
}

/** Keyed by the connection options object, so that all its users share one host list. */
const known = new WeakMap<object, DatabaseHosts>();

export function parseDatabaseHosts(connection: { connectionString: string }): DatabaseHosts {
  const places = known.get(connection) ?? new DatabaseHosts(parseDatabaseUrl(connection.connectionString));
  known.set(connection, places);
  return places;
}

export interface DatabaseClientConfig extends pg.ClientConfig {
  places?: DatabaseHosts;
}

/** pg's internal state of an unconnected client, which its types omit. */
interface Startup {
  connectionParameters: { options?: string; statement_timeout?: number | false; lock_timeout?: number | false };
  connection: { ssl: unknown };
  ssl: unknown;
  processID: number;
}

const ServerState = row({ isStandby: z.boolean(), readOnly: z.boolean() });
const STATE = `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "readOnly"`;
const Met = row({ pid: z.int(), isStandby: z.boolean(), readOnly: z.boolean() });
const WHO = `select pg_backend_pid() as pid, pg_is_in_recovery() as "isStandby",
                    current_setting('transaction_read_only') = 'on' as "readOnly"`;

export class DatabaseClient extends pg.Client {
  readonly #config: DatabaseClientConfig;
  #place: Place | undefined;
  #isGivenUp = false;

  constructor(config: DatabaseClientConfig = {}) {
    super(config);
    this.#config = config;
    // Ignores errors that nothing else listens for: pg has no listener before the connection is made, and the pool has
    // none during the check. In both cases the caller gets the error.
    this.connection.stream.on("error", () => {});
    this.on("error", () => {});
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: (error: Error) => void): void;
  override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
    const { places } = this.#config;
    if (places === undefined) {
      if (callback === undefined) return super.connect();
      super.connect(callback);
      return undefined;
    }
    const connected = this.#connectTo(places);
    if (callback === undefined) return connected;
    connected.then(() => callback(undefined as unknown as Error), callback);
    return undefined;
  }

  /** Reports that the server answers but is unusable, so the next connection tries another host. */
  forsake(): void {
    if (this.#place !== undefined) this.#config.places?.failed(this.#place);
  }

  async #connectTo(places: DatabaseHosts): Promise<pg.Client> {
    const place = await places.choose((one) => this.#look(places, one));
    this.#place = place;
    try {
      await this.#open(places, place);
      return this;
    } catch (error) {
      // A client that was closed before it connected says nothing about the host.
      if (!this.#isGivenUp) places.failed(place);
      this.connection.stream.destroy();
      throw error;
    }
  }

  /** Tests a host with a short-lived connection of a separate client that has the same configuration. */
  async #look(places: DatabaseHosts, place: Place): Promise<void> {
    const { places: _, ...config } = this.#config;
    // Copied explicitly, because the pool makes the password non-enumerable and the spread omits it.
    const { password } = this.#config;
    const client = new DatabaseClient({
      ...config,
      ...(password !== undefined && { password }),
      connectionTimeoutMillis: LOOK_MS_MAX,
    });
    client.on("error", () => {});
    try {
      await client.#open(places, place);
      await places.suits?.(client);
    } finally {
      client.connection.stream.destroy();
    }
  }

  async #open(places: DatabaseHosts, place: Place): Promise<void> {
    const startup = this as unknown as Startup;
    if (place.host !== undefined) this.host = place.host;
    if (place.port !== undefined) this.port = place.port;
    const ssl = place.isSecure ? await tlsOptions(places) : false;
    startup.ssl = ssl;
    startup.connection.ssl = ssl;
    const { options, statement_timeout, lock_timeout } = startup.connectionParameters;
    if (places.isPooled)
      Object.assign(startup.connectionParameters, { options: "", statement_timeout: 0, lock_timeout: 0 });
    // The caller may have timed out meanwhile. Connecting its destroyed stream would reopen it.
    const { destroyed, errored } = this.connection.stream;
    if (destroyed) {
      this.#isGivenUp = true;
      throw errored ?? new Error("Connection terminated");
    }
    await super.connect().catch((error) => {
      if (isStartupOptionsRefusal(error)) places.isPooled = true;
      throw error;
    });
    if (!places.isChoosy && places.isPooled === false) return;
    const met = await queryOne(this, Met, WHO);
    places.isPooled = met.pid !== startup.processID;
    if (places.isChoosy) assertAcceptsWrites(met);
    if (!places.isPooled) return;
    const settings = Object.entries({ ...parseSessionOptions(options ?? ""), statement_timeout, lock_timeout });
    const given = settings.filter(([, value]) => value);
    await this.query("select set_config(name, value, false) from unnest($1::text[], $2::text[]) as s (name, value)", [
      given.map(([name]) => name),
      given.map(([, value]) => String(value)),
    ]);
  }
}

/** Parses options such as `-c a=b -c c=d\ e` into settings. */
export function parseSessionOptions(options: string): Record<string, string> {
  const words = options.match(/(?:\\.|\S)+/g) ?? [];
  const settings: Record<string, string> = {};
  for (const [i, word] of words.entries()) {
    const given = word === "-c" ? words[i + 1] : /^(?:-c|--)(.+)$/.exec(word)?.[1];
    const [, name, value = ""] = /^([^=]+)=(.*)$/.exec(given ?? "") ?? [];
    if (name !== undefined) settings[name] = value.replaceAll(/\\(.)/g, "$1");
  }
  return settings;
}

/** Reads the certificate files for each connection, so that replaced certificates apply without a restart. */
async function tlsOptions(places: DatabaseHosts): Promise<ConnectionOptions> {
  const { rootcert, cert, key } = places.address.ssl;
  const mode = places.sslMode;
  const hasRoot = rootcert !== undefined && rootcert !== "system";
  const isVerified = mode.startsWith("verify-") || rootcert !== undefined;
  const files = await Promise.all([hasRoot ? rootcert : undefined, cert, key].map(contentOf));
  const [ca, own, ownKey] = files;
  return {
    rejectUnauthorized: isVerified,
    ...(ca !== undefined && { ca }),
    ...(own !== undefined && { cert: own, key: ownKey }),
    // Like libpq: with a custom CA and without verify-full, the hostname is not checked.
    ...(isVerified && mode !== "verify-full" && rootcert !== "system" && { checkServerIdentity: () => undefined }),
  };
}

const contentOf = async (file: string | undefined): Promise<string | undefined> =>
  file === undefined ? undefined : await readFile(file, "utf8");

/** The error's message, or its code: after a failure of several addresses, the message is empty. */
const wordsOf = (error: unknown): string => {
  const { message, code } = error as { message?: string; code?: string };
  return message || (code ?? String(error));
};
