/**
 * Light nodes that speak the protocol, many in one process: each accepts every job it is offered and says one word for it every
 * `PACE_MS` until it is told to finish. As an agent does, it says what falls due together in one frame. Of every sixteenth job the
 * words are stamps of the clock that all processes of the machine share.
 */
import { connect, type Socket } from "node:net";
import { keyFromSeed } from "../../gateway/src/plane/credentials/nkeys.ts";
import { decode, encode } from "../../protocol/src/codec.ts";
import type { Delta, Frame } from "../../protocol/src/frames.ts";
import { DELTAS_PER_FRAME_MAX } from "../../protocol/src/limits.ts";
import { nodeState, STATE_REQUEST, toGateway, toNode } from "../../protocol/src/subjects.ts";
import { nowUs } from "../gateway/usage.ts";
import { type NodeLogin, PACE_MS, STAMPED_EVERY } from "./terms.ts";

const TICK_MS = 20;
const TICKS = PACE_MS / TICK_MS;
const REPORT_EVERY_MS = 250;
const REPORTS_AT_REST = 20;
/** The platform's own small jobs end by themselves. */
const SMALL_JOB_TOKENS = 64;
const SMALL_JOB_WORDS = 4;

interface Job {
  id: string;
  gateway: string;
  seq: number;
  isSmall: boolean;
  isStamped: boolean;
}

/** By all nodes together. */
let taken = 0;

class LightNode {
  readonly #login: NodeLogin;
  readonly #socket: Socket;
  readonly #online: () => void;
  /** The jobs by the tick in which they say their word. */
  readonly #due = Array.from({ length: TICKS }, () => new Map<string, Job>());
  #heard: Buffer = Buffer.alloc(0);
  #jobs = 0;
  #reported = -1;
  #reports = 0;
  #isConnected = false;
  isFinishing = false;

  constructor(login: NodeLogin, online: () => void) {
    this.#login = login;
    this.#online = online;
    const { hostname, port } = new URL(login.url);
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.on("data", (chunk) => this.#hear(chunk));
    this.#socket.on("error", (error) => process.send?.({ type: "trouble", what: error.message }));
    this.#socket.on("close", () => process.send?.({ type: "trouble", what: "a node's connection closed" }));
  }

  /** Says what falls due in this tick, of all jobs together. */
  tick(nth: number): void {
    const due = this.#due[nth] as Map<string, Job>;
    if (due.size === 0) return;
    const byGateway = new Map<string, Delta[]>();
    const over: Job[] = [];
    const stamp = ` @${nowUs().toString(36)}`;
    for (const job of due.values()) {
      if (this.isFinishing || (job.isSmall && job.seq >= SMALL_JOB_WORDS)) over.push(job);
      else {
        const deltas = byGateway.get(job.gateway) ?? [];
        deltas.push({ job: job.id, seq: job.seq++, channel: "answer", text: job.isStamped ? stamp : " river" });
        byGateway.set(job.gateway, deltas);
      }
    }
    for (const [gateway, deltas] of byGateway) {
      for (let i = 0; i < deltas.length; i += DELTAS_PER_FRAME_MAX)
        this.#say(gateway, { kind: "deltas", deltas: deltas.slice(i, i + DELTAS_PER_FRAME_MAX) });
    }
    for (const { id, gateway, seq } of over) {
      this.#say(gateway, { kind: "done", job: id, seq, finish: "stop" });
      this.#forget(id);
    }
  }

  /** When a slot changed, and every five seconds. */
  report(asked = false): void {
    if (!this.#isConnected) return;
    this.#reports += 1;
    if (!asked && this.#jobs === this.#reported && this.#reports % REPORTS_AT_REST !== 0) return;
    this.#reported = this.#jobs;
    const { id, slots, model } = this.#login;
    const state = { protocol: "1.1", agent: "bench", slots, busy: this.#jobs, models: [model], draining: false };
    this.#publish(nodeState(id), encode({ kind: "state", state }));
  }

  #hear(chunk: Buffer): void {
    this.#heard = this.#heard.length === 0 ? chunk : Buffer.concat([this.#heard, chunk]);
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
    if (frame.kind === "cancel") this.#forget(frame.job);
    if (frame.kind !== "job") return;
    const { job: id, gateway, output_tokens_max } = frame.header;
    const isStamped = taken++ % STAMPED_EVERY === 0;
    const isSmall = output_tokens_max <= SMALL_JOB_TOKENS;
    const tick = Math.floor(performance.now() / TICK_MS) % TICKS;
    this.#due[tick]?.set(id, { id, gateway, seq: 0, isSmall, isStamped });
    this.#jobs += 1;
    this.#say(gateway, { kind: "accepted", job: id });
  }

  #forget(job: string): void {
    if (this.#due.some((due) => due.delete(job))) this.#jobs -= 1;
  }

  #say(gateway: string, frame: Exclude<Frame, { kind: "unknown" }>): void {
    this.#publish(toGateway(gateway, this.#login.id), encode(frame));
  }

  #publish(subject: string, payload: Uint8Array): void {
    this.#socket.cork();
    this.#socket.write(`PUB ${subject} ${payload.length}\r\n`, "latin1");
    this.#socket.write(payload);
    this.#socket.write("\r\n", "latin1");
    this.#socket.uncork();
  }
}

const nodes: LightNode[] = [];

/** One after the other: a hub has room for few that have not said who they are. */
async function join(logins: NodeLogin[]): Promise<void> {
  for (const login of logins) await new Promise<void>((resolve) => nodes.push(new LightNode(login, resolve)));
  process.send?.({ type: "online" });
}

let ticked = Math.floor(performance.now() / TICK_MS);
setInterval(() => {
  // What was missed is made up for: a late node must not be a slower one.
  for (const now = Math.floor(performance.now() / TICK_MS); ticked < now; ticked++) {
    for (const node of nodes) node.tick(ticked % TICKS);
  }
}, TICK_MS);
setInterval(() => {
  for (const node of nodes) node.report();
}, REPORT_EVERY_MS);

process.on("message", (message: { type: string; logins: NodeLogin[] }) => {
  if (message.type === "join") void join(message.logins);
  for (const node of nodes) node.isFinishing = message.type === "finish";
});
process.on("disconnect", () => process.exit(0));
