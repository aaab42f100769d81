/**
 * Receives jobs: refuses those that this node cannot run now, accepts the rest, joins their pieces, and runs them. A
 * job that arrives in pieces is accepted with its first frame. Gateways wait for this before they send the prompt to a
 * node that is not in good standing (such as one on probation), and try another node if the acceptance is late. A job
 * holds its slot from its first frame until the engine has released it.
 */
import { decodeFrame, encodeFrame, FrameError } from "@tollgate/protocol/frame-codec.ts";
import type { Frame, JobHeader } from "@tollgate/protocol/frames.ts";
import { JobJoiner } from "@tollgate/protocol/job-splitting.ts";
import type { Clock } from "../clock.ts";
import type { Engine, EngineAvailability, EngineJob } from "../engines/engine.ts";
import { describeWithoutMessage, type Log } from "../log.ts";
import type { FrameOutbox } from "./frame-outbox.ts";
import { IncompleteJobMessages } from "./incomplete-job-messages.ts";
import type { JobCounters } from "./job-counters.ts";
import { JobWriter } from "./job-writer.ts";
import { runJob, toEngineJob } from "./run-job.ts";

/** The number of recent job IDs that are kept, so that a job delivered twice runs once. */
const REMEMBERED_MAX = 1024;
/** The memory limit for the bodies of all arriving and running jobs. A job that would exceed it is refused. */
const HELD_BYTES_MAX = 128 * 1024 * 1024;
/** The minimum time between two log lines about malformed frames. */
const COMPLAIN_EVERY_MS = 1_000;

interface JobIntakeOptions {
  engine: Engine;
  /** The node's current models and slots. */
  now: () => EngineAvailability;
  /** Whether the model's engine has passed the format check. */
  keepsFormat: (model: string) => boolean;
  /** Whether the model's engine has passed the scoring check. */
  scores: (model: string) => boolean;
  outbox: FrameOutbox;
  clock: Clock;
  log: Log;
  tally: JobCounters;
  /** Called when a slot was taken or freed. */
  changed: () => void;
}

interface Running {
  writer: JobWriter;
  controller: AbortController;
  bytes: number;
}

export class JobIntake {
  readonly #options: JobIntakeOptions;
  readonly #partial: IncompleteJobMessages;
  readonly #running = new Map<string, Running>();
  readonly #accepted = new Set<string>();
  #draining = false;
  #malformed = 0;
  #complainedAt = Number.NEGATIVE_INFINITY;

  constructor(options: JobIntakeOptions) {
    this.#options = options;
    this.#partial = new IncompleteJobMessages(options.clock, (header) => {
      this.#fail(header, "some parts of the request did not reach the node in time");
      options.changed();
    });
  }

  get busy(): number {
    return this.#partial.size + this.#running.size;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Refuses every new job from now on. */
  drain(): void {
    this.#draining = true;
    this.#options.changed();
  }

  /** Aborts every job without sending anything about it. */
  abortAll(): void {
    this.#partial.clear();
    for (const { controller, writer } of this.#running.values()) {
      writer.discard();
      controller.abort();
    }
    this.#options.changed();
  }

  receive(bytes: Uint8Array): void {
    let frame: Frame;
    try {
      frame = decodeFrame(bytes);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#complain(error);
      return;
    }
    if (frame.kind === "job") this.#offer(frame);
    else if (frame.kind === "piece") this.#join(frame);
    else if (frame.kind === "cancel") this.#cancel(frame.job);
  }

  #complain(error: FrameError): void {
    this.#malformed++;
    const now = this.#options.clock.monotonic();
    if (now - this.#complainedAt < COMPLAIN_EVERY_MS) return;
    this.#complainedAt = now;
    this.#options.log.warn(
      { reason: error.message, frames: this.#malformed },
      "malformed frames from the dispatch plane",
    );
    this.#malformed = 0;
  }

  #offer(frame: Extract<Frame, { kind: "job" }>): void {
    const { header } = frame;
    if (this.#partial.has(header.job) || this.#accepted.has(header.job)) return;
    const obstacle = this.#obstacle(header);
    if (obstacle !== undefined) {
      this.#refuse(header, obstacle);
      return;
    }
    this.#guarded(header, this.#refuse, () => {
      const joiner = new JobJoiner(frame);
      if (joiner.complete) return this.#begin(joiner);
      this.#remember(header.job);
      const writer = new JobWriter(this.#options.outbox, this.#options.clock, header);
      this.#partial.await(joiner, writer);
      writer.accepted();
      this.#options.changed();
    });
  }

  /**
   * The reason why this job cannot run here now; undefined if it can. A job in several pieces is checked once, at its
   * first piece.
   */
  #obstacle(header: JobHeader): string | undefined {
    const { slots, slotsMax = slots, models } = this.#options.now();
    if (this.#draining) return "draining";
    if (!models.includes(header.model)) return "model not served";
    // Compared with `slotsMax`, because the gateway may have sent the job before the node announced fewer slots.
    if (this.busy >= slotsMax) return "no free slot";
    return this.#heldBytes + header.body_bytes > HELD_BYTES_MAX ? "no memory left for job bodies" : undefined;
  }

  get #heldBytes(): number {
    let sum = this.#partial.bytes;
    for (const { bytes } of this.#running.values()) sum += bytes;
    return sum;
  }

  #join(frame: Extract<Frame, { kind: "piece" }>): void {
    const header = this.#partial.header(frame.job);
    if (header === undefined) return;
    this.#guarded(header, this.#fail, () => {
      const whole = this.#partial.add(frame);
      if (whole !== undefined) this.#begin(whole.joiner, whole.writer);
    });
  }

  /**
   * Runs `step`. If it throws, the job is unreadable and `decline` ends it: with a refusal, which costs the request
   * nothing, or with a failure if the job was already accepted.
   */
  #guarded(header: JobHeader, decline: (header: JobHeader, reason: string) => void, step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#partial.forget(header.job);
      this.#options.log.warn(
        { job: header.job, ...describeWithoutMessage(error) },
        "could not read a job that the gateway sent",
      );
      decline.call(this, header, "unreadable");
      this.#options.changed();
    }
  }

  /** Starts a complete job. `accepted`: its writer, if it was accepted before its body arrived. */
  #begin(joiner: JobJoiner, accepted?: JobWriter): void {
    const { header } = joiner;
    const job = toEngineJob(header, joiner.body());
    const formatted = job.endpoint !== "embedding" && job.format !== undefined;
    const unkept = formatted && !this.#options.keepsFormat(job.model);
    const unscored = job.endpoint !== "embedding" && job.score !== undefined && !this.#options.scores(job.model);
    if (unkept || unscored || this.#options.engine.refuses?.(job)) {
      const why = unkept ? "the engine does not support output formats" : "the engine refused the output format";
      const reason = unscored ? "the engine cannot return the token probabilities of a given answer" : why;
      if (accepted === undefined) this.#refuse(header, reason);
      else this.#fail(header, reason);
      this.#options.changed();
      return;
    }
    this.#remember(header.job);
    this.#run(header, job, accepted);
  }

  #run(header: JobHeader, job: EngineJob, accepted: JobWriter | undefined): void {
    const { engine, outbox, clock, changed, tally } = this.#options;
    const controller = new AbortController();
    const { signal } = controller;
    const writer = accepted ?? new JobWriter(outbox, clock, header);
    const record = tally.begin(header);
    const log = this.#options.log.child({ job: header.job, model: header.model, endpoint: header.endpoint });
    const started = clock.monotonic();
    this.#running.set(header.job, { writer, controller, bytes: header.body_bytes });
    if (accepted === undefined) writer.accepted();
    changed();
    runJob({ engine, job, writer, record, signal, log })
      .catch((error: unknown) => {
        log.error(describeWithoutMessage(error), "could not report the end of a job to the gateway");
        return "failed" as const;
      })
      .then((outcome) => {
        this.#running.delete(header.job);
        tally.end(record, outcome);
        const { outputChars, vectors } = record.at(clock.monotonic());
        log.debug({ ms: Math.round(clock.monotonic() - started), outcome, outputChars, vectors }, "job ended");
        changed();
      });
  }

  #cancel(job: string): void {
    if (this.#partial.forget(job)) this.#options.changed();
    const running = this.#running.get(job);
    running?.writer.discard();
    running?.controller.abort();
  }

  #refuse(header: JobHeader, reason: string): void {
    this.#options.tally.refused();
    this.#options.log.debug({ job: header.job, model: header.model, reason }, "job declined");
    this.#options.outbox.send(header.gateway, encodeFrame({ kind: "busy", job: header.job }));
  }

  /** Fails a job that was accepted but cannot run. */
  #fail(header: JobHeader, reason: string): void {
    this.#options.tally.refused();
    this.#options.log.warn({ job: header.job, model: header.model, reason }, "accepted job failed");
    new JobWriter(this.#options.outbox, this.#options.clock, header).failed("agent", reason);
  }

  #remember(job: string): void {
    this.#accepted.add(job);
    if (this.#accepted.size <= REMEMBERED_MAX) return;
    for (const oldest of this.#accepted) {
      this.#accepted.delete(oldest);
      return;
    }
  }
}
