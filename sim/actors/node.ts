/**
 * A simulated node: an agent that speaks the real frames, with an engine (`simulated-engine.ts`). The node records what
 * it did with each job, so that the auditor can check charges and blame.
 */
import { decodeFrame, encodeFrame } from "../../protocol/src/frame-codec.ts";
import type { Frame, JobHeader } from "../../protocol/src/frames.ts";
import { JobJoiner } from "../../protocol/src/job-splitting.ts";
import {
  gatewaySubject,
  nodeStateSubject,
  nodeSubject,
  STATE_REQUEST_SUBJECT,
} from "../../protocol/src/nats-subjects.ts";
import type { NodeLink } from "../world/network.ts";
import type { World } from "../world/world.ts";
import type { AnswerScript, NodePlan } from "../world-plan.ts";
import { SimulatedEngine } from "./simulated-engine.ts";
import { type JobText, messagesOf, type RunningJob, type SimulatedJob } from "./simulated-job.ts";

interface Knowing {
  /** Returns the script of a request, found by the 26 characters of the request's ID; undefined for other jobs. */
  scriptOf: (request: string) => AnswerScript | undefined;
  /** Returns the node's standing in the database. */
  standing: () => SimulatedJob["standing"];
}

type Sendable = Exclude<Frame, { kind: "unknown" }>;

/** The script for probes (health checks), which have none of their own: a short answer. */
const PROBE: AnswerScript = { words: 12, thinkWords: 4, perDelta: 3, ttftMs: 30, everyMs: 40, fault: null };
const REPORT_EVERY_MS = 5_000;
const TOLD_MS = 60;
const EARLY = { accepts_early: true, draining: false };

export class SimNode {
  readonly id: string;
  readonly plan: NodePlan;
  readonly jobs = new Map<string, SimulatedJob>();
  readonly #world: World;
  readonly #link: NodeLink;
  readonly #engine: SimulatedEngine;
  readonly #running = new Map<string, RunningJob>();
  readonly #joining = new Map<string, JobJoiner>();
  /** Jobs that the node accepted before their bodies arrived, with the time of acceptance. */
  readonly #early = new Map<string, number>();
  readonly #scriptOf: (request: string) => AnswerScript | undefined;
  readonly #standing: () => SimulatedJob["standing"];
  #isUp = false;
  #isTelling = false;

  constructor(world: World, id: string, plan: NodePlan, knows: Knowing) {
    this.#world = world;
    this.id = id;
    this.plan = plan;
    this.#scriptOf = knows.scriptOf;
    this.#standing = knows.standing;
    this.#engine = new SimulatedEngine(world, {
      ...{ plan, jobs: this.jobs },
      crash: (downMs) => this.crash(downMs),
      send: (gateway, bytes) => this.#raw(gateway, bytes),
      end: (running, end) => this.#end(running, end),
    });
    this.#link = world.network.node(id, {
      patterns: [nodeSubject(id), STATE_REQUEST_SUBJECT],
      receive: (subject, payload) =>
        subject === STATE_REQUEST_SUBJECT ? this.#tell() : this.#hear(decodeFrame(payload)),
      dropped: (by) => this.#dropped(by),
    });
    world.scheduler.every(REPORT_EVERY_MS, () => this.#tell());
  }

  /** Whether the node runs no client's request at the moment. */
  get isIdle(): boolean {
    return ![...this.#running.keys()].some((job) => this.#isRequest(job));
  }

  /** Returns whether a client sent the job's request; false for the platform's own jobs. */
  #isRequest(job: string): boolean {
    return this.#scriptOf(job.slice(0, 26)) !== undefined;
  }

  connect({ moved = false } = {}): void {
    if (this.#isUp || !this.#world.network.connectNode(this.id, { moved })) return;
    this.#isUp = true;
    this.#world.trace.add(this.id, "connects");
    this.#report();
  }

  /** Ends the node's process, which starts again after `downMs`. */
  crash(downMs: number): boolean {
    if (!this.#isUp) return false;
    this.#comeBackMs = downMs;
    this.#world.network.cutNode(this.id, "node");
    return true;
  }

  cut(how: "plane" | "moved", downMs: number): boolean {
    if (!this.#isUp) return false;
    this.#comeBackMs = downMs;
    this.#moves = how === "moved";
    this.#world.network.cutNode(this.id, "plane", { unnoticed: this.#moves });
    return true;
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
    if (by === "node") this.#takeAlong();
    this.#joining.clear();
    this.#early.clear();
    const moved = this.#moves;
    this.#moves = false;
    this.#world.scheduler.after(this.#comeBackMs, () => this.connect({ moved }));
    this.#comeBackMs = 1_000;
  }

  /**
   * Marks the jobs that ended a moment ago as failed by the node: if their last frames are still in flight, they are
   * lost with the connection.
   */
  #takeAlong(): void {
    const { scheduler, network } = this.#world;
    for (const facts of this.jobs.values()) {
      if (facts.endedMs !== null && scheduler.nowMs - facts.endedMs <= network.delayMsMax) facts.isAtFault = true;
    }
  }

  /** Sends one state report after a short delay, however often the state changes meanwhile. */
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
    const json_schema = this.plan.formats ? models : [];
    const state = { protocol: "1.3", agent: "simulated", slots, busy, models, json_schema, ...EARLY };
    this.#link.publish(nodeStateSubject(this.id), encodeFrame({ kind: "state", state }));
  }

  #hear(frame: Frame): void {
    if (!this.#isUp) return;
    if (frame.kind === "job") this.#consider(new JobJoiner(frame));
    else if (frame.kind === "piece") this.#joining.get(frame.job)?.add(frame);
    else if (frame.kind === "cancel") {
      this.#joining.delete(frame.job);
      this.#early.delete(frame.job);
      const running = this.#running.get(frame.job);
      if (running !== undefined) this.#end(running, "cancelled");
      return;
    } else return;
    const job = frame.kind === "job" ? frame.header.job : frame.job;
    const joiner = this.#joining.get(job);
    if (joiner?.complete !== true) return;
    this.#joining.delete(job);
    this.#offered(joiner.header, joiner.body() as JobText);
  }

  /** Reads an offered job. If the body comes in a later message, the node accepts the job before the body arrives. */
  #consider(joiner: JobJoiner): void {
    const { job, gateway } = joiner.header;
    if (!joiner.complete) {
      if (this.#isFull) {
        this.#say(gateway, { kind: "busy", job });
        return;
      }
      this.#early.set(job, this.#world.scheduler.nowMs);
      this.#say(gateway, { kind: "accepted", job });
    }
    this.#joining.set(job, joiner);
  }

  get #isFull(): boolean {
    return this.#running.size + this.#early.size >= this.plan.slots;
  }

  #offered(header: JobHeader, body: JobText): void {
    const { job } = header;
    const early = this.#early.get(job);
    this.#early.delete(job);
    const script = this.#scriptOf(job.slice(0, 26));
    const isKnown = header.endpoint === "embedding" || this.#world.answers.answerTo(messagesOf(body)) !== undefined;
    const facts: SimulatedJob = {
      job,
      nodeId: this.id,
      offeredMs: this.#world.scheduler.nowMs,
      accepted: false,
      thought: "",
      said: "",
      vectors: [],
      isCountable: this.plan.kind !== "white space",
      isFormatted: body.format !== undefined,
      isRequest: script !== undefined,
      isCanary: script === undefined && isKnown,
      beside: [...this.#running.keys()].filter((other) => this.#isRequest(other)).length,
      standing: this.#standing(),
      isAtFault: false,
      refusedPrompt: false,
      aliveMs: this.#world.scheduler.nowMs,
      endedMs: null,
      end: "running",
    };
    this.jobs.set(job, facts);
    const say = (frame: Sendable): void => this.#say(header.gateway, frame);
    if (early === undefined && this.#isFull) {
      facts.end = "busy";
      say({ kind: "busy", job });
      return;
    }
    const acceptedMs = early ?? this.#world.scheduler.nowMs;
    const running: RunningJob = { header, body, facts, seq: 0, acceptedMs, stop: () => {} };
    this.#running.set(job, running);
    facts.accepted = true;
    if (early === undefined) say({ kind: "accepted", job });
    this.#tell();
    // All kinds of nodes answer the platform's own jobs honestly, except those that send empty output and those that
    // always send the same answer.
    const isHonest = script === undefined && this.plan.kind !== "empty" && this.plan.kind !== "constant";
    this.#engine.begin(running, script ?? PROBE, isHonest ? "honest" : this.plan.kind);
  }

  #end(running: RunningJob, end: SimulatedJob["end"]): void {
    running.stop();
    running.facts.end = end;
    running.facts.endedMs = this.#world.scheduler.nowMs;
    this.#running.delete(running.header.job);
    this.#tell();
  }

  #say(gateway: string, frame: Sendable): void {
    this.#raw(gateway, encodeFrame(frame));
  }

  #raw(gateway: string, bytes: Uint8Array): void {
    if (this.#isUp) this.#link.publish(gatewaySubject(gateway, this.id), bytes);
  }
}
