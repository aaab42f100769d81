/**
 * A node's connection to the dispatch plane for load benches: it signs in, reports its slots, reads jobs and sends
 * frames. It is written by hand because a NATS client costs several times as much per node, and the bench shares the
 * machine with what it measures.
 */
import { connect, type Socket } from "node:net";
import { keyFromSeed } from "../../gateway/src/plane/credentials/nkeys.ts";
import { decodeFrame, encodeFrame } from "../../protocol/src/frame-codec.ts";
import { DELTAS_PER_FRAME_MAX } from "../../protocol/src/frame-limits.ts";
import type { Delta, Frame } from "../../protocol/src/frames.ts";
import {
  gatewaySubject,
  nodeStateSubject,
  nodeSubject,
  STATE_REQUEST_SUBJECT,
} from "../../protocol/src/nats-subjects.ts";

const REPORT_EVERY_MS = 250;
/** An unchanged state is reported again at every 20th interval, which is every 5 s. */
const REPORTS_AT_REST = 20;

export interface NodeLogin {
  id: string;
  url: string;
  jwt: string;
  seed: string;
  slots: number;
  model: string;
}

interface NodeHandlers {
  online: () => void;
  frame: (frame: Frame) => void;
  busySlots: () => number;
}

export class NodeConnection {
  readonly #login: NodeLogin;
  readonly #socket: Socket;
  readonly #handlers: NodeHandlers;
  #received: Buffer = Buffer.alloc(0);
  #reported = -1;
  #reports = 0;
  #isConnected = false;

  constructor(login: NodeLogin, handlers: NodeHandlers) {
    this.#login = login;
    this.#handlers = handlers;
    const { hostname, port } = new URL(login.url);
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.on("data", (chunk) => this.together(() => this.#read(chunk)));
    this.#socket.on("error", (error) => process.send?.({ type: "trouble", what: error.message }));
    this.#socket.on("close", () => process.send?.({ type: "trouble", what: "a node's connection closed" }));
  }

  /** Sends all frames that `work` sends in one write. */
  together(work: () => void): void {
    this.#socket.cork();
    work();
    this.#socket.uncork();
  }

  sendDeltas(gateway: string, deltas: Delta[]): void {
    for (let i = 0; i < deltas.length; i += DELTAS_PER_FRAME_MAX)
      this.send(gateway, { kind: "deltas", deltas: deltas.slice(i, i + DELTAS_PER_FRAME_MAX) });
  }

  send(gateway: string, frame: Exclude<Frame, { kind: "unknown" }>): void {
    this.#publish(gatewaySubject(gateway, this.#login.id), encodeFrame(frame));
  }

  /** Sends the node's state if the number of busy slots changed, if a gateway requested the state, and every 5 s. */
  report(asked = false): void {
    if (!this.#isConnected) return;
    this.#reports += 1;
    const busy = this.#handlers.busySlots();
    if (!asked && busy === this.#reported && this.#reports % REPORTS_AT_REST !== 0) return;
    this.#reported = busy;
    const { id, slots, model } = this.#login;
    const state = { protocol: "1.1", agent: "bench", slots, busy, models: [model], draining: false };
    this.#publish(nodeStateSubject(id), encodeFrame({ kind: "state", state }));
  }

  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    for (;;) {
      const end = this.#received.indexOf("\r\n");
      if (end < 0) return;
      const line = this.#received.toString("latin1", 0, end);
      let next = end + 2;
      if (line.startsWith("MSG ")) {
        const [, subject = "", , bytes] = line.split(" ");
        const after = next + Number(bytes);
        if (this.#received.length < after + 2) return;
        if (subject === STATE_REQUEST_SUBJECT) this.report(true);
        else this.#handlers.frame(decodeFrame(this.#received.subarray(next, after)));
        next = after + 2;
      } else if (line.startsWith("INFO ")) this.#signIn(JSON.parse(line.slice(5)).nonce);
      else if (line === "PING") this.#socket.write("PONG\r\n");
      else if (line === "PONG") this.#handlers.online();
      else if (line.startsWith("-ERR")) process.send?.({ type: "trouble", what: line });
      this.#received = this.#received.subarray(next);
    }
  }

  #signIn(nonce: string): void {
    const { id, jwt, seed } = this.#login;
    const sig = keyFromSeed(seed).sign(Buffer.from(nonce)).toString("base64url");
    this.#socket.write(
      `CONNECT ${JSON.stringify({ jwt, sig })}\r\nSUB ${nodeSubject(id)} 1\r\nSUB ${STATE_REQUEST_SUBJECT} 2\r\n`,
    );
    this.#isConnected = true;
    this.report(true);
    this.#socket.write("PING\r\n");
  }

  #publish(subject: string, payload: Uint8Array): void {
    this.together(() => {
      this.#socket.write(`PUB ${subject} ${payload.length}\r\n`, "latin1");
      this.#socket.write(payload);
      this.#socket.write("\r\n", "latin1");
    });
  }
}

/**
 * Opens nodes one after the other, because a hub allows few connections that have not signed in yet. Then sends the
 * state reports of all nodes.
 */
export async function openNodes<N extends { connection: NodeConnection }>(
  logins: readonly NodeLogin[],
  open: (login: NodeLogin, online: () => void) => N,
  into: N[],
): Promise<void> {
  setInterval(() => {
    for (const { connection } of into) connection.report();
  }, REPORT_EVERY_MS);
  for (const login of logins) await new Promise<void>((resolve) => into.push(open(login, resolve)));
  process.send?.({ type: "online" });
}
