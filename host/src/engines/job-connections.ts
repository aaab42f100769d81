/** Sends jobs to an engine's server, each on a connection of its own. Idle connections are reused. */
import type { Clock } from "../clock.ts";
import type { AnswerHead } from "./http1/answer-parser.ts";
import { EngineConnection, type EngineServerAddress } from "./http1/engine-connection.ts";
import { blockThread, ReadBatcher } from "./http1/read-batcher.ts";

/**
 * How long a connection may stay idle. Engine servers close idle connections after five seconds or more. Closing
 * earlier costs less than a job that fails on a closed connection.
 */
const REST_MS_MAX = 4_000;
/** If a server announces how long it keeps idle connections open, the client closes them this much earlier. */
const REST_MARGIN_MS = 1_000;
const SWEEP_EVERY_MS = 1_000;
const CONNECTIONS_AT_REST_MAX = 256;
const CONNECT_MS_MAX = 10_000;
/**
 * The most bytes to read after a reader had enough. Usually, the end of the response follows its last event at once.
 */
const LEFTOVER_BYTES_MAX = 64 * 1024;
const LEFTOVER_MS_MAX = 1_000;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

/**
 * What the reader of a response needs next. `more`: further bytes. `enough`: nothing; the rest is read within limits,
 * so that the connection can be reused. `cut`: nothing, and the engine must stop.
 */
export type ReaderDemand = "more" | "enough" | "cut";

export interface JobRequest {
  path: string;
  body: string;
  /** Cancels the request and its response. */
  signal: AbortSignal;
  /** Receives the response's head and returns the function for its body. `bytes` is only valid during the call. */
  answered: (head: AnswerHead) => (bytes: Buffer) => ReaderDemand;
  /** Uses a new connection. Set when the server closed a reused one. */
  fresh?: boolean;
}

interface Resting {
  connection: EngineConnection;
  until: number;
}

export class JobConnections {
  readonly #server: EngineServerAddress;
  readonly #path: string;
  readonly #head: string;
  readonly #clock: Clock;
  readonly #gather: ReadBatcher;
  /** Idle connections. The most recently used one is taken first. */
  #resting: Resting[] = [];
  #stopSweeping: (() => void) | undefined;

  /** `root`: the address `http://host:port`, with the path that all requests begin with, if any. */
  constructor(root: string, headers: Record<string, string>, clock: Clock) {
    const { protocol, host, hostname, port, pathname } = new URL(root);
    const secure = protocol === "https:";
    // IPv6 addresses have brackets in URLs, but not in `connect`.
    const address = hostname.replace(/^\[(.*)\]$/, "$1");
    this.#server = { host: address, port: Number(port || (secure ? 443 : 80)), secure };
    this.#path = pathname.replace(/\/$/, "");
    const fields = { host, ...headers, "content-type": "application/json", connection: "keep-alive" };
    this.#head = Object.entries(fields)
      .map(([name, value]) => {
        if (!HEADER_VALUE.test(value)) throw new Error(`${name} contains a character that is not allowed in a header`);
        return `${name}: ${value}\r\n`;
      })
      .join("");
    this.#clock = clock;
    this.#gather = new ReadBatcher(clock, blockThread);
  }

  /**
   * Resolves with how the response ended: its reader wanted no more (`enough`, `cut`), it is complete (`over`) or it
   * broke off (`broken`). Rejects if there was no response, or if `answered` throws. When the signal aborts, the
   * response counts as broken.
   */
  post({ path, body, signal, answered, fresh }: JobRequest): Promise<"enough" | "cut" | "over" | "broken"> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const connection = (fresh ? undefined : this.#rested()) ?? this.#connect();
      const cutOff = (): void => connection.destroy(new Error("connection closed"));
      signal.addEventListener("abort", cutOff);
      let take: ((bytes: Buffer) => ReaderDemand) | undefined;
      let wish: ReaderDemand = "more";
      let left = LEFTOVER_BYTES_MAX;
      let cancelTimer: (() => void) | undefined;
      let endReading: (() => void) | undefined;
      const request = `POST ${this.#path}${path} HTTP/1.1\r\n${this.#head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
      connection.begin(request, {
        heard: (head, bytes) => {
          if (wish === "enough") {
            left -= bytes.length;
            if (left < 0) connection.destroy();
          }
          if (wish !== "more") return;
          try {
            take ??= answered(head);
            if (bytes.length > 0) wish = take(bytes);
          } catch (error) {
            wish = "cut";
            reject(error);
          }
          endReading ??= this.#gather.begin();
          this.#gather.read();
          if (wish === "more") return;
          resolve(wish);
          if (wish === "cut") connection.destroy();
          else cancelTimer = this.#clock.after(LEFTOVER_MS_MAX, () => connection.destroy());
        },
        ended: (whole) => {
          signal.removeEventListener("abort", cutOff);
          endReading?.();
          cancelTimer?.();
          resolve(whole ? "over" : "broken");
        },
        failed: (error) => {
          signal.removeEventListener("abort", cutOff);
          endReading?.();
          reject(error);
        },
      });
    });
  }

  #connect(): EngineConnection {
    const cancelTimer = this.#clock.after(CONNECT_MS_MAX, () => {
      connection.destroy(new Error(`could not connect to the engine within ${CONNECT_MS_MAX / 1000} s`));
    });
    const connection = new EngineConnection(this.#server, {
      up: cancelTimer,
      rests: (head) => this.#rest(connection, head),
      closed: () => {
        cancelTimer();
        this.#resting = this.#resting.filter((each) => each.connection !== connection);
      },
    });
    return connection;
  }

  #rested(): EngineConnection | undefined {
    const now = this.#clock.monotonic();
    for (let last = this.#resting.pop(); last !== undefined; last = this.#resting.pop()) {
      const { connection, until } = last;
      if (now < until) {
        connection.wake();
        return connection;
      }
      connection.destroy();
    }
    return undefined;
  }

  #rest(connection: EngineConnection, head: AnswerHead): void {
    const restMs = restMsOf(head);
    if (restMs <= 0 || this.#resting.length >= CONNECTIONS_AT_REST_MAX) {
      connection.destroy();
      return;
    }
    connection.rest();
    this.#resting.push({ connection, until: this.#clock.monotonic() + restMs });
    this.#stopSweeping ??= this.#clock.every(SWEEP_EVERY_MS, () => this.#sweep());
  }

  /** Closes connections that were idle for too long. */
  #sweep(): void {
    const now = this.#clock.monotonic();
    const [old, young] = [[] as Resting[], [] as Resting[]];
    for (const each of this.#resting) (now < each.until ? young : old).push(each);
    this.#resting = young;
    for (const { connection } of old) connection.destroy();
    if (young.length > 0) return;
    this.#stopSweeping?.();
    this.#stopSweeping = undefined;
  }
}

function restMsOf({ fields }: AnswerHead): number {
  const told = /(?:^|[ ,])timeout=(\d+)/.exec(fields.get("keep-alive") ?? "")?.[1];
  return told === undefined ? REST_MS_MAX : Math.min(REST_MS_MAX, Number(told) * 1000 - REST_MARGIN_MS);
}
