/**
 * A node: an agent that speaks the real frames, with an engine that does as its kind and the request's script say. What it truly
 * did is written down job by job, for the auditor.
 */
import { decode, encode } from "../../protocol/src/codec.ts";
import type { Frame, JobHeader } from "../../protocol/src/frames.ts";
import { JobJoiner } from "../../protocol/src/jobs.ts";
import { nodeState, STATE_REQUEST, toGateway, toNode } from "../../protocol/src/subjects.ts";
import type { NodePlan, Script } from "../plan.ts";
import type { NodeLink } from "../world/network.ts";
import { sentence } from "../world/words.ts";
import type { World } from "../world/world.ts";

/** What became of a job, as the node knows. */
export interface JobFacts {
  job: string;
  nodeId: string;
  offeredMs: number;
  accepted: boolean;
  /** All that it said as output, in order. */
  said: string;
  /** What went wrong was its own doing. */
  isAtFault: boolean;
  /** It said that it cannot take the prompt, which is the prompt's fault for all that anybody knows. */
  refusedPrompt: boolean;
  /** Its last sign of life: the acceptance, or output. */
  aliveMs: number;
  endedMs: number | null;
  end: "done" | "failed" | "broken" | "silent" | "dropped" | "cancelled" | "busy" | "running";
}

interface Running {
  header: JobHeader;
  facts: JobFacts;
  seq: number;
  acceptedMs: number;
  stop: () => void;
}

type Sendable = Exclude<Frame, { kind: "unknown" }>;

/** A probe has no script: it is answered shortly. */
const PROBE: Script = { words: 12, perDelta: 3, ttftMs: 30, everyMs: 40, fault: null };
const REPORT_EVERY_MS = 5_000;
const TOLD_MS = 60;

export class SimNode {
  readonly id: string;
  readonly plan: NodePlan;
  readonly jobs = new Map<string, JobFacts>();
  readonly #world: World;
  readonly #link: NodeLink;
  readonly #running = new Map<string, Running>();
  readonly #joining = new Map<string, JobJoiner>();
  readonly #scriptOf: (request: string) => Script | undefined;
  #isUp = false;
  #isTelling = false;

  constructor(world: World, id: string, plan: NodePlan, scriptOf: (request: string) => Script | undefined) {
    this.#world = world;
    this.id = id;
    this.plan = plan;
    this.#scriptOf = scriptOf;
    this.#link = world.network.node(id, {
      patterns: [toNode(id), STATE_REQUEST],
      receive: (subject, payload) => (subject === STATE_REQUEST ? this.#tell() : this.#hear(decode(payload))),
      dropped: (by) => this.#dropped(by),
    });
    world.scheduler.every(REPORT_EVERY_MS, () => this.#tell());
  }

  connect({ moved = false } = {}): void {
    if (this.#isUp || !this.#world.network.connectNode(this.id, { moved })) return;
    this.#isUp = true;
    this.#world.trace.add(this.id, "connects");
    this.#report();
  }

  /** Its process ends, and is started again after a while. */
  crash(downMs: number): void {
    if (!this.#isUp) return;
    this.#comeBackMs = downMs;
    this.#world.network.cutNode(this.id, "node");
  }

  cut(how: "plane" | "moved", downMs: number): void {
    if (!this.#isUp) return;
    this.#comeBackMs = downMs;
    this.#moves = how === "moved";
    this.#world.network.cutNode(this.id, "plane", { unnoticed: this.#moves });
  }

  #comeBackMs = 1_000;
  #moves = false;

  #dropped(by: "node" | "plane"): void {
    this.#isUp = false;
    this.#world.trace.add(this.id, `loses its connection, by ${by}`);
    for (const running of [...this.#running.values()]) {
      if (by === "node") running.facts.isAtFault = true;
      this.#end(running, "dropped");
    }
    this.#joining.clear();
    const moved = this.#moves;
    this.#moves = false;
    this.#world.scheduler.after(this.#comeBackMs, () => this.connect({ moved }));
    this.#comeBackMs = 1_000;
  }

  /** Within a moment, however often it changes meanwhile. */
  #tell(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    this.#world.scheduler.after(TOLD_MS, () => {
      this.#isTelling = false;
      this.#report();
    });
  }

  #report(): void {
    if (!this.#isUp) return;
    const { slots, models } = this.plan;
    const busy = this.#running.size;
    const state = { protocol: "1.2", agent: "simulated", slots, busy, models, draining: false };
    this.#link.publish(nodeState(this.id), encode({ kind: "state", state }));
  }

  #hear(frame: Frame): void {
    if (!this.#isUp) return;
    if (frame.kind === "job") this.#joining.set(frame.header.job, new JobJoiner(frame));
    else if (frame.kind === "piece") this.#joining.get(frame.job)?.add(frame);
    else if (frame.kind === "cancel") {
      this.#joining.delete(frame.job);
      const running = this.#running.get(frame.job);
      if (running !== undefined) this.#end(running, "cancelled");
      return;
    } else return;
    const job = frame.kind === "job" ? frame.header.job : frame.job;
    const joiner = this.#joining.get(job);
    if (joiner?.complete !== true) return;
    this.#joining.delete(job);
    joiner.body();
    this.#offered(joiner.header);
  }

  #offered(header: JobHeader): void {
    const { job } = header;
    const facts: JobFacts = {
      job,
      nodeId: this.id,
      offeredMs: this.#world.scheduler.nowMs,
      accepted: false,
      said: "",
      isAtFault: false,
      refusedPrompt: false,
      aliveMs: this.#world.scheduler.nowMs,
      endedMs: null,
      end: "running",
    };
    this.jobs.set(job, facts);
    const say = (frame: Sendable): void => this.#say(header.gateway, frame);
    if (this.#running.size >= this.plan.slots) {
      facts.end = "busy";
      say({ kind: "busy", job });
      return;
    }
    const running: Running = { header, facts, seq: 0, acceptedMs: this.#world.scheduler.nowMs, stop: () => {} };
    this.#running.set(job, running);
    facts.accepted = true;
    say({ kind: "accepted", job });
    this.#tell();
    const script = this.#scriptOf(job.slice(0, 26));
    // What the platform asks by itself is answered as by an honest node, but by one that never has anything to say.
    const isHonest = script === undefined && this.plan.kind !== "empty";
    this.#begin(running, script ?? PROBE, isHonest ? "honest" : this.plan.kind);
  }

  #begin(running: Running, script: Script, kind: NodePlan["kind"]): void {
    if (kind === "silent") this.#after(running, 60_000, () => this.#end(running, "silent"));
    else if (kind === "empty") this.#done(running);
    else if (kind === "empty deltas") this.#sayNothing(running);
    else if (kind === "fast") {
      this.#output(running, sentence(0, Math.max(script.words, 200)));
      this.#done(running);
    } else if (kind === "honest" || kind === "overrun") {
      const spoken = kind === "overrun" ? overrunning(script) : script;
      this.#after(running, script.ttftMs, () => this.#speak(running, spoken));
    } else {
      // These say something, and then what they should not.
      this.#output(running, sentence(0, 2));
      this.#after(running, 30, () => this.#misbehave(running, kind));
    }
  }

  /** Again and again, just before anybody grows impatient. */
  #sayNothing(running: Running): void {
    this.#output(running, "");
    this.#after(running, 1_500, () => this.#sayNothing(running));
  }

  #misbehave(running: Running, kind: NodePlan["kind"]): void {
    const { job, gateway } = running.header;
    const { seq } = running;
    running.facts.isAtFault = true;
    if (kind === "failing") this.#say(gateway, { kind: "failed", job, seq, cause: "engine", message: "" });
    else if (kind === "vectors")
      this.#say(gateway, { kind: "vectors", job, seq, first: 0, width: 2, values: new Float32Array(2) });
    else if (kind === "accepts twice") this.#say(gateway, { kind: "accepted", job });
    else if (kind === "garbage") this.#raw(gateway, Buffer.from([1, 19, 1, 0, 255, 255, 255]));
    else {
      running.seq += kind === "gap" ? 3 : -1;
      this.#output(running, sentence(2, 1), { counts: false });
    }
    this.#end(running, kind === "failing" ? "failed" : "broken");
  }

  #after(running: Running, ms: number, run: () => void): void {
    running.stop = this.#world.scheduler.after(ms, run);
  }

  #speak(running: Running, script: Script): void {
    const attempt = Number(running.header.job.slice(-2));
    const { fault, words, perDelta, everyMs } = script;
    const strikes = fault !== null && (fault.attempt === 0 || fault.attempt === attempt);
    const wordsMax = strikes ? Math.min(words, fault.after) : words;
    let said = 0;
    const step = (): void => {
      if (said < wordsMax) {
        const count = Math.min(perDelta, wordsMax - said);
        this.#output(running, sentence(said, count));
        said += count;
        running.stop = this.#world.scheduler.after(everyMs, step);
      } else if (!strikes) this.#done(running);
      else this.#strike(running, fault.kind);
    };
    step();
  }

  #strike(running: Running, kind: NonNullable<Script["fault"]>["kind"]): void {
    running.facts.isAtFault = true;
    running.facts.refusedPrompt = kind === "prompt";
    const { job, gateway } = running.header;
    if (kind === "stall") running.stop = this.#world.scheduler.after(60_000, () => this.#end(running, "silent"));
    else if (kind === "drop") this.crash(500);
    else {
      const cause = kind === "prompt" ? "prompt" : "engine";
      this.#say(gateway, { kind: "failed", job, seq: running.seq, cause, message: "" });
      this.#end(running, "failed");
    }
  }

  #output(running: Running, text: string, { counts = true } = {}): void {
    const { job, gateway } = running.header;
    const atMs = this.#world.scheduler.nowMs - running.acceptedMs;
    const times = { firstMs: atMs, lastMs: atMs };
    this.#say(gateway, { kind: "timed", deltas: [{ job, seq: running.seq, channel: "answer", text, ...times }] });
    running.seq += 1;
    if (!counts || text === "") return;
    running.facts.said += text;
    running.facts.aliveMs = this.#world.scheduler.nowMs;
  }

  #done(running: Running): void {
    const { job, gateway } = running.header;
    this.#say(gateway, { kind: "done", job, seq: running.seq, finish: "stop" });
    this.#end(running, "done");
  }

  #end(running: Running, end: JobFacts["end"]): void {
    running.stop();
    running.facts.end = end;
    running.facts.endedMs = this.#world.scheduler.nowMs;
    this.#running.delete(running.header.job);
    this.#tell();
  }

  #say(gateway: string, frame: Sendable): void {
    this.#raw(gateway, encode(frame));
  }

  #raw(gateway: string, bytes: Uint8Array): void {
    if (this.#isUp) this.#link.publish(toGateway(gateway, this.id), bytes);
  }
}

/** Says more than anybody asked for. */
const overrunning = (script: Script): Script => ({ ...script, words: script.words + 400, fault: null });
