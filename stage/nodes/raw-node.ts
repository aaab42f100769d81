/** A hand-made node with real credentials and a plain socket, which can break the protocol in any way. */
import { connect, type Socket } from "node:net";
import { keyFromSeed } from "../../gateway/src/plane/credentials/nkeys.ts";
import { decodeFrame, FrameError } from "../../protocol/src/frame-codec.ts";
import type { Frame } from "../../protocol/src/frames.ts";
import type { HostAccount } from "../builder-and-host-accounts.ts";
import { type Credentials, enrolNode, type NodeRegistration } from "./hand-made-node.ts";

/** A job that was offered to the node and has not ended. */
export interface UnfinishedJob {
  job: string;
  gateway: string;
  embedding: boolean;
  accepted: boolean;
  seq: number;
}

/** The maximum number of jobs to remember: the gateway has ended older ones long ago. */
const JOBS_MAX = 64;
/** The maximum amount of unsent data that this process buffers. */
const UNREAD_BYTES_MAX = 1024 * 1024;

export class RawNode {
  readonly id: string;
  /** The node's credentials, which tests also use for other clients of the plane. */
  readonly credentials: Credentials;
  readonly jobs: UnfinishedJob[] = [];
  /** The number of connection attempts. */
  connects = 0;
  gateway = "nobody";
  #socket: Socket | undefined;
  #heard: Buffer = Buffer.alloc(0);
  #pongs = 0;
  #wake = (): void => {};

  static async join(
    stage: { baseUrl: string },
    host: Pick<HostAccount, "token">,
    traits: NodeRegistration,
  ): Promise<RawNode> {
    const { id, credentials } = await enrolNode(stage, host, traits);
    return new RawNode(id, credentials);
  }

  constructor(id: string, credentials: Credentials) {
    this.id = id;
    this.credentials = credentials;
  }

  /** Returns the same node again, for a second connection with its credentials. */
  twin(): RawNode {
    return new RawNode(this.id, this.credentials);
  }

  get isConnected(): boolean {
    return this.#socket !== undefined && !this.#socket.destroyed && this.#socket.writable;
  }

  /** Connects to the plane. Resolves with true if the plane accepted the connection. */
  async connect(): Promise<boolean> {
    this.connects += 1;
    this.leave();
    this.jobs.length = 0;
    this.#heard = Buffer.alloc(0);
    const { hostname, port } = new URL(this.credentials.url);
    const socket = connect({ host: hostname, port: Number(port) });
    this.#socket = socket;
    const gone = new Promise<false>((resolve) => {
      socket.once("close", () => {
        this.#wake();
        resolve(false);
      });
    });
    // Ignores socket errors: the plane may cut the connection with a reset.
    socket.on("error", () => {});
    const greeting = new Promise<string>((resolve) => socket.once("data", (chunk: Buffer) => resolve(String(chunk))));
    const hello = await Promise.race([greeting, gone]);
    if (hello === false) return false;
    const nonce = /"nonce":"([^"]+)"/.exec(hello)?.[1] ?? "";
    const { jwt, seed } = this.credentials;
    const sig = keyFromSeed(seed).sign(Buffer.from(nonce)).toString("base64url");
    socket.on("data", (chunk: Buffer) => this.#hear(chunk));
    socket.write(`CONNECT ${JSON.stringify({ jwt, sig, verbose: false })}\r\nSUB tg.n.${this.id} 1\r\nPING\r\n`);
    const pongs = this.#pongs;
    while (this.#pongs === pongs && this.isConnected) await this.#news();
    return this.isConnected;
  }

  /** Sends frames with their subjects in one write. Resolves when the socket can accept more data. */
  async publish(messages: { subject: string; payload: Uint8Array }[]): Promise<void> {
    const parts = messages.flatMap(({ subject, payload }) => [
      Buffer.from(`PUB ${subject} ${payload.length}\r\n`),
      payload,
      Buffer.from("\r\n"),
    ]);
    await this.say(Buffer.concat(parts));
  }

  async say(bytes: Uint8Array): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || !this.isConnected || socket.write(bytes)) return;
    await new Promise<void>((resolve) => {
      const go = (): void => {
        socket.off("drain", go);
        socket.off("close", go);
        resolve();
      };
      socket.once("drain", go);
      socket.once("close", go);
    });
  }

  /** Resolves with true when the plane has read everything sent so far; with false if it cut the connection instead. */
  async heardOut(): Promise<boolean> {
    const pongs = this.#pongs;
    await this.say(Buffer.from("PING\r\n"));
    while (this.#pongs === pongs && this.isConnected) await this.#news();
    return this.#pongs > pongs;
  }

  /**
   * Sends the text repeatedly, as fast as the plane reads, without reading anything. Ends when `isOver` returns true or
   * the connection is cut.
   */
  async sayUnread(text: string, isOver: () => boolean): Promise<void> {
    const bytes = Buffer.from(text);
    this.#socket?.pause();
    while (!isOver() && this.isConnected) {
      if ((this.#socket?.writableLength ?? 0) < UNREAD_BYTES_MAX) this.#socket?.write(bytes);
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#socket?.resume();
  }

  /** Resolves when the connection has ended. */
  async gone(): Promise<void> {
    while (this.isConnected) await this.#news();
  }

  leave(): void {
    this.#socket?.destroy();
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #hear(chunk: Buffer): void {
    this.#heard = this.#heard.length === 0 ? chunk : Buffer.concat([this.#heard, chunk]);
    for (;;) {
      const end = this.#heard.indexOf("\r\n");
      if (end < 0) break;
      const line = this.#heard.toString("latin1", 0, end);
      const bytes = line.startsWith("MSG ") ? Number(line.slice(line.lastIndexOf(" ") + 1)) + 2 : 0;
      if (this.#heard.length < end + 2 + bytes) break;
      if (line === "PONG") this.#pongs += 1;
      if (line === "PING") this.#socket?.write("PONG\r\n");
      if (bytes > 0) this.#take(this.#heard.subarray(end + 2, end + bytes));
      this.#heard = this.#heard.subarray(end + 2 + bytes);
    }
    this.#wake();
  }

  #take(payload: Uint8Array): void {
    let frame: Frame;
    try {
      frame = decodeFrame(payload);
    } catch (error) {
      if (error instanceof FrameError) throw new Error("the gateway sent a malformed frame", { cause: error });
      throw error;
    }
    if (frame.kind === "job") {
      const { job, gateway, endpoint } = frame.header;
      this.gateway = gateway;
      this.jobs.push({ job, gateway, embedding: endpoint === "embedding", accepted: false, seq: 0 });
      if (this.jobs.length > JOBS_MAX) this.jobs.shift();
    } else if (frame.kind === "cancel") {
      const { job } = frame;
      const at = this.jobs.findIndex((open) => open.job === job);
      if (at >= 0) this.jobs.splice(at, 1);
    }
  }
}
