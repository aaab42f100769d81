/**
 * A connection to the database of a URL. Of several hosts the first that takes writes is used, until a connection to it fails; with
 * `sslmode` allow or prefer a host counts twice, with TLS and without. Behind a pooler a session's settings are made after the start, because
 * poolers refuse or drop what a start asks for.
 */
import { readFile } from "node:fs/promises";
import type { ConnectionOptions } from "node:tls";
import pg from "pg";
import { z } from "zod";
import { invariant } from "../base/invariant.ts";
import { type DatabaseAddress, parseDatabaseUrl, type SslMode } from "./address.ts";
import { isRefusedStart } from "./refused-start.ts";
import { queryOne, row } from "./rows.ts";

/** Where several places are looked at, one that does not answer is passed over after this time. */
const LOOK_MS_MAX = 2_000;

interface Place {
  host: string | undefined;
  port: number | undefined;
  isSecure: boolean;
}

/** What is known of the places behind one URL, shared by all connections to it. */
export class Places {
  readonly address: DatabaseAddress;
  /** Whether a pooler answers instead of the server; undefined before the first connection. */
  isPooled: boolean | undefined;
  /** Throws where a server that takes writes must not be used all the same. */
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

  /** Without one in the URL, PGSSLMODE counts as pg reads it: anything but disable and no-verify is verified in full. */
  get sslMode(): SslMode {
    if (this.address.ssl.mode !== undefined) return this.address.ssl.mode;
    const { ssl } = new pg.Client() as { ssl: unknown };
    return ssl === true ? "verify-full" : ssl ? "require" : "disable";
  }

  /** Whether a server that takes no writes is passed over. */
  get isChoosy(): boolean {
    return this.address.hosts.length > 1 || this.address.target !== "any";
  }

  /** The place to connect to. `look` connects for a moment, and rejects where the place is of no use. */
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

  /** The next connection looks for another place, and comes back to this host last: it may answer and be of no use. */
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

/** It answers, and cannot be worked with now. */
export class TakesNoWrites extends Error {
  override name = "TakesNoWrites";
  readonly code = "25006";
}

export function assertTakesWrites({ isStandby, readOnly }: { isStandby: boolean; readOnly: boolean }): void {
  if (isStandby) throw new TakesNoWrites("the database is a standby: it takes no writes");
  if (readOnly) throw new TakesNoWrites("the database is read-only");
}

/** By the object: whoever shares it shares what is known. */
const known = new WeakMap<object, Places>();

export function placesOf(connection: { connectionString: string }): Places {
  const places = known.get(connection) ?? new Places(parseDatabaseUrl(connection.connectionString));
  known.set(connection, places);
  return places;
}

export interface DatabaseClientConfig extends pg.ClientConfig {
  places?: Places;
}

/** What pg keeps of a connection that is not made yet, and its types do not tell. */
interface Startup {
  connectionParameters: { options?: string; statement_timeout?: number | false; lock_timeout?: number | false };
  connection: { ssl: unknown };
  ssl: unknown;
  processID: number;
}

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
    // It may be cut before it connects, when pg does not listen yet, and lost while it is looked at, when the pool does not: whoever waits
    // for it hears why.
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

  /** What it leads to answers, and is of no use: the next connection goes elsewhere, where there are several hosts. */
  forsake(): void {
    if (this.#place !== undefined) this.#config.places?.failed(this.#place);
  }

  async #connectTo(places: Places): Promise<pg.Client> {
    const place = await places.choose((one) => this.#look(places, one));
    this.#place = place;
    try {
      await this.#open(places, place);
      return this;
    } catch (error) {
      // Nothing is known to be wrong with a place that no one waited for: else a look that takes long would never end.
      if (!this.#isGivenUp) places.failed(place);
      this.connection.stream.destroy();
      throw error;
    }
  }

  /** Connects another client for a moment. */
  async #look(places: Places, place: Place): Promise<void> {
    const { places: _, ...config } = this.#config;
    // A pool hides its password from the spread.
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

  async #open(places: Places, place: Place): Promise<void> {
    const startup = this as unknown as Startup;
    if (place.host !== undefined) this.host = place.host;
    if (place.port !== undefined) this.port = place.port;
    const ssl = place.isSecure ? await tlsOptions(places) : false;
    startup.ssl = ssl;
    startup.connection.ssl = ssl;
    const { options, statement_timeout, lock_timeout } = startup.connectionParameters;
    if (places.isPooled)
      Object.assign(startup.connectionParameters, { options: "", statement_timeout: 0, lock_timeout: 0 });
    // Whoever waited may have given up meanwhile; a stream that was destroyed would connect again.
    const { destroyed, errored } = this.connection.stream;
    if (destroyed) {
      this.#isGivenUp = true;
      throw errored ?? new Error("Connection terminated");
    }
    await super.connect().catch((error) => {
      if (isRefusedStart(error)) places.isPooled = true;
      throw error;
    });
    if (!places.isChoosy && places.isPooled === false) return;
    const met = await queryOne(this, Met, WHO);
    places.isPooled = met.pid !== startup.processID;
    if (places.isChoosy) assertTakesWrites(met);
    if (!places.isPooled) return;
    const settings = Object.entries({ ...settingsOf(options ?? ""), statement_timeout, lock_timeout });
    const given = settings.filter(([, value]) => value);
    await this.query("select set_config(name, value, false) from unnest($1::text[], $2::text[]) as s (name, value)", [
      given.map(([name]) => name),
      given.map(([, value]) => String(value)),
    ]);
  }
}

/** `-c a=b -c c=d\ e` as what they set. */
export function settingsOf(options: string): Record<string, string> {
  const words = options.match(/(?:\\.|\S)+/g) ?? [];
  const settings: Record<string, string> = {};
  for (const [i, word] of words.entries()) {
    const given = word === "-c" ? words[i + 1] : /^(?:-c|--)(.+)$/.exec(word)?.[1];
    const [, name, value = ""] = /^([^=]+)=(.*)$/.exec(given ?? "") ?? [];
    if (name !== undefined) settings[name] = value.replaceAll(/\\(.)/g, "$1");
  }
  return settings;
}

/** Read for each connection: certificates are replaced while gateways run. */
async function tlsOptions(places: Places): Promise<ConnectionOptions> {
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
    // With an authority of its own and without verify-full, any name that it vouches for will do: so libpq has it.
    ...(isVerified && mode !== "verify-full" && rootcert !== "system" && { checkServerIdentity: () => undefined }),
  };
}

const contentOf = async (file: string | undefined): Promise<string | undefined> =>
  file === undefined ? undefined : await readFile(file, "utf8");

/** Where several addresses were tried the code says more than the empty message. */
const wordsOf = (error: unknown): string => {
  const { message, code } = error as { message?: string; code?: string };
  return message || (code ?? String(error));
};
