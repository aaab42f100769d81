/**
 * Runs many lightweight nodes in one process. They speak the node protocol: each accepts every job and sends one word
 * for it every `PACE_MS` until the bench finishes. Like an agent, a node sends all words that are due at one moment in
 * one frame. In every sixteenth job the words are timestamps of the clock that all processes of the machine share.
 */
import type { Delta, Frame } from "../../protocol/src/frames.ts";
import { nowUs } from "../gateway/process-resource-usage.ts";
import { NodeConnection, type NodeLogin, openNodes } from "./node-connection.ts";
import { JOBS_PER_TIMESTAMPED_JOB, WORD_INTERVAL_MS } from "./shared-types.ts";

const TICK_MS = 20;
const TICKS = WORD_INTERVAL_MS / TICK_MS;
/** Jobs with at most this many tokens are the platform's own probes, which end after a few words. */
const SMALL_JOB_TOKENS = 64;
const SMALL_JOB_WORDS = 4;

interface Job {
  id: string;
  gateway: string;
  seq: number;
  isSmall: boolean;
  isStamped: boolean;
}

/** The number of jobs that all nodes have accepted. */
let taken = 0;

class LightNode {
  readonly connection: NodeConnection;
  /** The jobs by the tick in which each sends its next word. */
  readonly #due = Array.from({ length: TICKS }, () => new Map<string, Job>());
  #jobs = 0;
  isFinishing = false;

  constructor(login: NodeLogin, online: () => void) {
    const frame = (received: Frame): void => this.#take(received);
    this.connection = new NodeConnection(login, { online, frame, busySlots: () => this.#jobs });
  }

  /** Sends the words of all jobs that are due in this tick. */
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
    for (const [gateway, deltas] of byGateway) this.connection.sendDeltas(gateway, deltas);
    for (const { id, gateway, seq } of over) {
      this.connection.send(gateway, { kind: "done", job: id, seq, finish: "stop" });
      this.#forget(id);
    }
  }

  #take(frame: Frame): void {
    if (frame.kind === "cancel") this.#forget(frame.job);
    if (frame.kind !== "job") return;
    const { job: id, gateway, output_tokens_max } = frame.header;
    const isStamped = taken++ % JOBS_PER_TIMESTAMPED_JOB === 0;
    const isSmall = output_tokens_max <= SMALL_JOB_TOKENS;
    const tick = Math.floor(performance.now() / TICK_MS) % TICKS;
    this.#due[tick]?.set(id, { id, gateway, seq: 0, isSmall, isStamped });
    this.#jobs += 1;
    this.connection.send(gateway, { kind: "accepted", job: id });
  }

  #forget(job: string): void {
    if (this.#due.some((due) => due.delete(job))) this.#jobs -= 1;
  }
}

const nodes: LightNode[] = [];

let ticked = Math.floor(performance.now() / TICK_MS);
setInterval(() => {
  // Makes up for missed ticks, so that a process that runs late does not slow its nodes down.
  for (const now = Math.floor(performance.now() / TICK_MS); ticked < now; ticked++) {
    for (const node of nodes) node.tick(ticked % TICKS);
  }
}, TICK_MS);

process.on("message", (message: { type: string; logins: NodeLogin[] }) => {
  if (message.type === "join") void openNodes(message.logins, (login, online) => new LightNode(login, online), nodes);
  for (const node of nodes) node.isFinishing = message.type === "finish";
});
process.on("disconnect", () => process.exit(0));
