/**
 * Light nodes that speak the protocol, many in one process: each accepts every job that it is offered and answers with as many words as it
 * was told to, at once or at a pace. As an agent does, it says what falls due together in one frame.
 */
import { connect, type Socket } from "node:net";
import { keyFromSeed } from "../../gateway/src/plane/credentials/nkeys.ts";
import { decode, encode } from "../../protocol/src/codec.ts";
import type { Delta, Frame } from "../../protocol/src/frames.ts";
import { DELTAS_PER_FRAME_MAX } from "../../protocol/src/limits.ts";
import { nodeState, STATE_REQUEST, toGateway, toNode } from "../../protocol/src/subjects.ts";
import type { NodeLogin, Pace, ToNodes } from "./terms.ts";

const TICK_MS = 5;
const REPORT_EVERY_MS = 250;
/** In a report at rest, every so many. */
const REPORTS_AT_REST = 20;

interface Job {
  id: string;
  gateway: string;
  seq: number;
  words: number;
  nextAt: number;
}

let pace: Pace = { words: 100, delayMs: 0 };

class LightNode {
  readonly #login: NodeLogin;
  readonly #socket: Socket;
  readonly #online: () => void;
  readonly #jobs = new Map<string, Job>();
  #heard: Buffer = Buffer.alloc(0);
  #reported = -1;
  #reports = 0;
  #isConnected = false;

  constructor(login: NodeLogin, online: () => void) {
    this.#login = login;
    this.#online = online;
    const { hostname, port } = new URL(login.url);
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.on("data", (chunk) => this.#hear(chunk));
    this.#socket.on("error", (error) => process.send?.({ type: "trouble", what: error.message }));
    this.#socket.on("close", () => process.send?.({ type: "trouble", what: "a node's connection closed" }));
  }

  /** Says what falls due now, of all jobs of a gateway together. */
  tick(now: number): void {
    if (this.#jobs.size === 0) return;
    const byGateway = new Map<string, Delta[]>();
    const over: Job[] = [];
    for (const job of this.#jobs.values()) {
      if (job.nextAt > now) continue;
      if (job.seq >= job.words) over.push(job);
      else {
        const deltas = byGateway.get(job.gateway) ?? [];
        deltas.push({ job: job.id, seq: job.seq++, channel: "answer", text: " river" });
        byGateway.set(job.gateway, deltas);
        // What was missed is made up for: a late node must not be a slower one.
        job.nextAt += pace.delayMs;
      }
    }
    this.#socket.cork();
    for (const [gateway, deltas] of byGateway) this.#sayAll(gateway, deltas);
    for (const job of over) this.#end(job);
    this.#socket.uncork();
  }

  /** When a slot changed, and every five seconds. */
  report(asked = false): void {
    if (!this.#isConnected) return;
    this.#reports += 1;
    const busy = this.#jobs.size;
    if (!asked && busy === this.#reported && this.#reports % REPORTS_AT_REST !== 0) return;
    this.#reported = busy;
    const { id, slots, model } = this.#login;
    const state = { protocol: "1.1", agent: "bench", slots, busy, models: [model], draining: false };
    this.#publish(nodeState(id), encode({ kind: "state", state }));
  }

  #hear(chunk: Buffer): void {
    this.#heard = this.#heard.length === 0 ? chunk : Buffer.concat([this.#heard, chunk]);
    this.#socket.cork();
    this.#readAll();
    this.#socket.uncork();
  }

  #readAll(): void {
    for (;;) {
      const end = this.#heard.indexOf("\r\n");
      if (end < 0) return;
      const line = this.#heard.toString("latin1", 0, end);
      let next = end + 2;
      if (line.startsWith("MSG ")) {
        const [, subject = "", , bytes] = line.split(" ");
        const after = next + Number(bytes);
        if (this.#heard.length < after + 2) return;
        if (subject === STATE_REQUEST) this.report(true);
        else this.#take(decode(this.#heard.subarray(next, after)));
        next = after + 2;
      } else if (line.startsWith("INFO ")) this.#connect(JSON.parse(line.slice(5)).nonce);
      else if (line === "PING") this.#socket.write("PONG\r\n");
      else if (line === "PONG") this.#online();
      else if (line.startsWith("-ERR")) process.send?.({ type: "trouble", what: line });
      this.#heard = this.#heard.subarray(next);
    }
  }

  #connect(nonce: string): void {
    const { id, jwt, seed } = this.#login;
    const sig = keyFromSeed(seed).sign(Buffer.from(nonce)).toString("base64url");
    this.#socket.write(`CONNECT ${JSON.stringify({ jwt, sig })}\r\nSUB ${toNode(id)} 1\r\nSUB ${STATE_REQUEST} 2\r\n`);
    this.#isConnected = true;
    this.report(true);
    this.#socket.write("PING\r\n");
  }

  #take(frame: Frame): void {
    if (frame.kind === "cancel") this.#jobs.delete(frame.job);
    if (frame.kind !== "job") return;
    const { job: id, gateway, output_tokens_max } = frame.header;
    // The platform's own small jobs end by themselves.
    const words = Math.min(pace.words, output_tokens_max);
    const job = { id, gateway, seq: 0, words, nextAt: performance.now() + pace.delayMs };
    this.#say(gateway, { kind: "accepted", job: id });
    this.#jobs.set(id, job);
    if (pace.delayMs > 0) return;
    const deltas = Array.from(
      { length: words },
      (_, seq): Delta => ({ job: id, seq, channel: "answer", text: " river" }),
    );
    job.seq = words;
    this.#sayAll(gateway, deltas);
    this.#end(job);
  }

  #end({ id, gateway, seq }: Job): void {
    this.#say(gateway, { kind: "done", job: id, seq, finish: "stop" });
    this.#jobs.delete(id);
  }

  #sayAll(gateway: string, deltas: Delta[]): void {
    for (let i = 0; i < deltas.length; i += DELTAS_PER_FRAME_MAX)
      this.#say(gateway, { kind: "deltas", deltas: deltas.slice(i, i + DELTAS_PER_FRAME_MAX) });
  }

  #say(gateway: string, frame: Exclude<Frame, { kind: "unknown" }>): void {
    this.#publish(toGateway(gateway, this.#login.id), encode(frame));
  }

  #publish(subject: string, payload: Uint8Array): void {
    const head = Buffer.from(`PUB ${subject} ${payload.length}\r\n`, "latin1");
    this.#socket.write(Buffer.concat([head, payload, Buffer.from("\r\n")]));
  }
}

const nodes: LightNode[] = [];

/** One after the other: a hub has room for few that have not said who they are. */
async function join(logins: NodeLogin[]): Promise<void> {
  for (const login of logins) await new Promise<void>((resolve) => nodes.push(new LightNode(login, resolve)));
  process.send?.({ type: "online" });
}

setInterval(() => {
  const now = performance.now();
  for (const node of nodes) node.tick(now);
}, TICK_MS);
setInterval(() => {
  for (const node of nodes) node.report();
}, REPORT_EVERY_MS);

process.on("message", (message: ToNodes) => {
  if (message.type === "join") void join(message.logins);
  else pace = message.pace;
});
process.on("disconnect", () => process.exit(0));
