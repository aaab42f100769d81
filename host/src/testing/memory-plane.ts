/** Test helper: an in-memory plane. It records the node's messages, and the test acts as the gateways. */
import { decodeFrame, encodeFrame, FrameError } from "@tollgate/protocol/frame-codec.ts";
import type { Frame, JobBody, JobHeader } from "@tollgate/protocol/frames.ts";
import { splitJob } from "@tollgate/protocol/job-splitting.ts";
import type { PlaneConnection, PlaneCredentials, PlaneDialer } from "../agent/plane-connection.ts";

interface Heard {
  subject: string;
  bytes: Uint8Array;
  /** Undefined if the bytes are not a frame. */
  frame: Frame | undefined;
  connection: MemoryConnection;
}

class MemoryConnection implements PlaneConnection {
  readonly credentials: PlaneCredentials;
  readonly closed: Promise<Error | undefined>;
  readonly #end: (reason: Error | undefined) => void;
  readonly #heard: (subject: string, bytes: Uint8Array) => void;
  readonly #receivers: [string, (payload: Uint8Array) => void][] = [];
  isOpen = true;

  constructor(
    credentials: PlaneCredentials,
    heard: (connection: MemoryConnection, subject: string, bytes: Uint8Array) => void,
  ) {
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.credentials = credentials;
    this.closed = promise;
    this.#end = resolve;
    this.#heard = (subject, bytes) => heard(this, subject, bytes);
  }

  publish(subject: string, payload: Uint8Array): void {
    if (this.isOpen) this.#heard(subject, Uint8Array.from(payload));
  }

  subscribe(subject: string, receive: (payload: Uint8Array) => void): void {
    this.#receivers.push([subject, receive]);
  }

  deliver(subject: string, payload: Uint8Array): void {
    if (!this.isOpen) return;
    for (const [wanted, receive] of this.#receivers) if (wanted === subject) receive(payload);
  }

  get subjects(): string[] {
    return this.#receivers.map(([subject]) => subject);
  }

  async flush(): Promise<void> {}

  async close(): Promise<void> {
    this.lose(undefined);
  }

  /** Ends the connection as the broker or the network would. */
  lose(reason: Error | undefined): void {
    this.isOpen = false;
    this.#end(reason);
  }
}

export class MemoryPlane {
  readonly connections: MemoryConnection[] = [];
  readonly heard: Heard[] = [];
  readonly #waiting = new Set<() => void>();
  /** Errors that the next connection attempts fail with. */
  readonly refusals: Error[] = [];
  /** The only address that accepts connections. Undefined: any address does. */
  url: string | undefined;
  dials = 0;

  readonly dial: PlaneDialer = async (credentials) => {
    const refusal = this.refusals.shift();
    this.dials++;
    if (refusal !== undefined) throw refusal;
    if (this.url !== undefined && credentials.url !== this.url) throw new Error("connection refused");
    const connection = new MemoryConnection(credentials, (from, subject, bytes) => {
      this.heard.push({ subject, bytes, frame: decoded(bytes), connection: from });
      this.#wake();
    });
    this.connections.push(connection);
    this.#wake();
    return connection;
  };

  get open(): MemoryConnection[] {
    return this.connections.filter((connection) => connection.isOpen);
  }

  /** Delivers to every open connection, as a broker does. */
  send(subject: string, payload: Uint8Array): void {
    for (const connection of this.open) connection.deliver(subject, payload);
  }

  sendJob(subject: string, header: Omit<JobHeader, "body_bytes" | "pieces">, body: JobBody): void {
    for (const frame of splitJob(header, body)) this.send(subject, encodeFrame(frame));
  }

  /** Resolves with the first truthy value of `found`, which runs after every event. */
  until<T>(found: () => T | undefined | false): Promise<T> {
    return new Promise((resolve) => {
      const look = (): void => {
        const value = found();
        if (value === undefined || value === false) return;
        this.#waiting.delete(look);
        resolve(value);
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** Returns the frames of one job so far. */
  of(job: string): Frame[] {
    return this.heard.flatMap(({ frame }): Frame[] => {
      if (frame === undefined || frame.kind === "unknown" || frame.kind === "state") return [];
      if (frame.kind === "deltas" || frame.kind === "timed") {
        const deltas = frame.deltas.filter((delta) => delta.job === job);
        return deltas.length === 0 ? [] : [{ ...frame, deltas } as Frame];
      }
      return "job" in frame && frame.job === job ? [frame] : [];
    });
  }

  /** Waits for a job's `done`, `failed` or `busy`. */
  ending(job: string): Promise<Frame> {
    return this.until(() => this.of(job).find(({ kind }) => kind === "done" || kind === "failed" || kind === "busy"));
  }

  #wake(): void {
    for (const look of [...this.#waiting]) look();
  }
}

function decoded(bytes: Uint8Array): Frame | undefined {
  try {
    return decodeFrame(bytes);
  } catch (error) {
    if (error instanceof FrameError) return undefined;
    throw error;
  }
}
