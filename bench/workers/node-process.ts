/**
 * Runs many lightweight nodes in one process. They speak the node protocol: each accepts every job and answers with a
 * set number of words, all at once or at a pace. Like an agent, a node sends all words that are due at one moment in
 * one frame.
 */
import type { Delta, Frame } from "../../protocol/src/frames.ts";
import { NodeConnection, type NodeLogin, openNodes } from "../streams/node-connection.ts";
import type { AnswerPace, NodesMessage } from "./process-messages.ts";

const TICK_MS = 5;
const WORD = " river";

interface Job {
  id: string;
  gateway: string;
  seq: number;
  words: number;
  nextAt: number;
}

let pace: AnswerPace = { words: 100, delayMs: 0 };

class LightNode {
  readonly connection: NodeConnection;
  readonly #jobs = new Map<string, Job>();

  constructor(login: NodeLogin, online: () => void) {
    const frame = (received: Frame): void => this.#take(received);
    this.connection = new NodeConnection(login, { online, frame, busySlots: () => this.#jobs.size });
  }

  /** Sends all words that are due now, in one frame for all jobs of a gateway. */
  tick(now: number): void {
    if (this.#jobs.size === 0) return;
    const byGateway = new Map<string, Delta[]>();
    const over: Job[] = [];
    for (const job of this.#jobs.values()) {
      if (job.nextAt > now) continue;
      if (job.seq >= job.words) over.push(job);
      else {
        const deltas = byGateway.get(job.gateway) ?? [];
        deltas.push({ job: job.id, seq: job.seq++, channel: "answer", text: WORD });
        byGateway.set(job.gateway, deltas);
        // The next word is due one pause after this one was due, so that a process that runs late does not slow its
        // nodes down.
        job.nextAt += pace.delayMs;
      }
    }
    this.connection.together(() => {
      for (const [gateway, deltas] of byGateway) this.connection.sendDeltas(gateway, deltas);
      for (const job of over) this.#end(job);
    });
  }

  #take(frame: Frame): void {
    if (frame.kind === "cancel") this.#jobs.delete(frame.job);
    if (frame.kind !== "job") return;
    const { job: id, gateway, output_tokens_max, stream } = frame.header;
    // The platform's own probes have a small token limit, so they end by themselves.
    const words = Math.min(pace.words, output_tokens_max);
    const job = { id, gateway, seq: 0, words, nextAt: performance.now() + pace.delayMs };
    this.connection.send(gateway, { kind: "accepted", job: id });
    this.#jobs.set(id, job);
    if (pace.delayMs > 0) return;
    // If an answer is not streamed, an agent joins the output into one piece.
    const deltas = stream
      ? Array.from({ length: words }, (_, seq) => ({ job: id, seq, channel: "answer" as const, text: WORD }))
      : [{ job: id, seq: 0, channel: "answer" as const, text: WORD.repeat(words) }];
    job.seq = deltas.length;
    this.connection.sendDeltas(gateway, deltas);
    this.#end(job);
  }

  #end({ id, gateway, seq }: Job): void {
    this.connection.send(gateway, { kind: "done", job: id, seq, finish: "stop" });
    this.#jobs.delete(id);
  }
}

const nodes: LightNode[] = [];

setInterval(() => {
  const now = performance.now();
  for (const node of nodes) node.tick(now);
}, TICK_MS);

process.on("message", (message: NodesMessage) => {
  if (message.type === "join") void openNodes(message.logins, (login, online) => new LightNode(login, online), nodes);
  else pace = message.pace;
});
process.on("disconnect", () => process.exit(0));
