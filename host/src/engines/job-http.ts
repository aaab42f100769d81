/**
 * One job's request to an engine: the head of the answer, and its bytes as they come, with no stream and no promise for each
 * of them. Connections are kept for the next jobs.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Clock } from "../clock.ts";

/** Engines' servers close what rests for five seconds or longer; to close it first costs less than a job on a closed one. */
const REST_MS_MAX = 4_000;
const CONNECTIONS_AT_REST_MAX = 256;
const CONNECT_MS_MAX = 10_000;
/** A last event says that nothing follows; the end of the answer follows it within a moment. */
const LEFTOVER_BYTES_MAX = 64 * 1024;
const LEFTOVER_MS_MAX = 1_000;

export class JobHttp {
  readonly #request: typeof httpRequest;
  readonly #options: object;
  readonly #path: string;
  readonly #headers: Record<string, string>;
  readonly #clock: Clock;

  /** `root`: `http://host:port`, and whatever path comes before that of a request. */
  constructor(root: string, headers: Record<string, string>, clock: Clock) {
    const { protocol, hostname, port, pathname } = new URL(root);
    const secure = protocol === "https:";
    const kept = { keepAlive: true, timeout: REST_MS_MAX, maxFreeSockets: CONNECTIONS_AT_REST_MAX };
    this.#request = secure ? httpsRequest : httpRequest;
    // An address of IPv6 has brackets in a URL and none elsewhere.
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    this.#options = { host, port, method: "POST", agent: secure ? new HttpsAgent(kept) : new HttpAgent(kept) };
    this.#path = pathname.replace(/\/$/, "");
    this.#headers = { ...headers, "content-type": "application/json" };
    this.#clock = clock;
  }

  /** Resolves with the head of the answer; rejects with what broke the connection. When `signal` aborts, both end, the answer too. */
  post(path: string, body: string, signal: AbortSignal): Promise<JobAnswer> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const options = { ...this.#options, path: this.#path + path, headers: this.#headers };
      let answered = false;
      const request = this.#request(options, (message) => {
        answered = true;
        resolve(new JobAnswer(message, this.#clock));
      });
      const cutOff = (): void => void request.destroy();
      signal.addEventListener("abort", cutOff);
      request.on("error", reject);
      request.on("close", () => {
        signal.removeEventListener("abort", cutOff);
        if (!answered) reject(new Error("cut off"));
      });
      request.on("socket", (socket) => {
        if (!socket.connecting) return;
        const cancelTimer = this.#clock.after(CONNECT_MS_MAX, () =>
          request.destroy(new Error("no connection in time")),
        );
        socket.once("connect", cancelTimer);
        socket.once("close", cancelTimer);
      });
      request.end(body);
    });
  }
}

export class JobAnswer {
  readonly #message: IncomingMessage;
  readonly #clock: Clock;

  constructor(message: IncomingMessage, clock: Clock) {
    this.#message = message;
    this.#clock = clock;
    // Whoever reads hears of it by `close`; without a listener it would end the process.
    message.on("error", () => {});
  }

  get status(): number {
    return this.#message.statusCode ?? 0;
  }

  header(name: string): string | undefined {
    const value = this.#message.headers[name];
    return typeof value === "string" ? value : undefined;
  }

  /**
   * Hands the bytes over as they come, until `take` has enough, the answer is over or its connection breaks, and says which it
   * was. Rejects with what `take` throws. To be called once.
   *
   * An engine sends every event as a chunk of its own, and many of them may come in one read: they are handed over together.
   */
  read(take: (bytes: Buffer) => "more" | "enough"): Promise<"enough" | "over" | "broken"> {
    const message = this.#message;
    return new Promise((resolve, reject) => {
      let waiting: Buffer[] = [];
      const handOver = (): void => {
        if (waiting.length === 0) return;
        const bytes = waiting.length === 1 ? (waiting[0] as Buffer) : Buffer.concat(waiting);
        waiting = [];
        try {
          if (take(bytes) === "more") return;
          resolve("enough");
        } catch (error) {
          reject(error);
        }
        message.off("data", hear);
      };
      const hear = (bytes: Buffer): void => {
        waiting.push(bytes);
        if (waiting.length === 1) process.nextTick(handOver);
      };
      const end = (how: "over" | "broken"): void => {
        handOver();
        resolve(how);
      };
      message.on("data", hear);
      message.on("end", () => end("over"));
      message.on("close", () => end("broken"));
      if (message.closed) end("broken");
    });
  }

  /** The whole answer, up to a bound: the engine does not decide how much memory we use. */
  async text(bytesMax: number): Promise<string> {
    const chunks: Buffer[] = [];
    let left = bytesMax;
    const end = await this.read((bytes) => {
      left -= bytes.length;
      chunks.push(bytes);
      return left < 0 ? "enough" : "more";
    });
    if (end === "over") return Buffer.concat(chunks).toString("utf8");
    this.cutOff();
    throw new Error(end === "broken" ? "the connection broke" : `the answer is larger than ${bytesMax} bytes`);
  }

  /** Closes the connection: the engine stops. */
  cutOff(): void {
    this.#message.destroy();
  }

  /**
   * Nothing more is of interest. What is left is read to its end all the same, so that the connection can be used again:
   * closing it would cost the next job a new one. Bounded, and nobody waits for it.
   */
  letEnd(): void {
    const message = this.#message;
    const cancelTimer = this.#clock.after(LEFTOVER_MS_MAX, () => message.destroy());
    let left = LEFTOVER_BYTES_MAX;
    message.on("data", (bytes: Buffer) => {
      left -= bytes.length;
      if (left < 0) message.destroy();
    });
    message.on("close", cancelTimer);
  }
}
