/**
 * Takes in what gateways send: joins jobs that come in pieces, refuses what this node cannot run now, runs the rest.
 * A job holds its slot from its first piece until the engine has let go of it.
 */
import { decode, encode, FrameError } from "@tollgate/protocol/codec.ts";
import type { Frame, JobHeader } from "@tollgate/protocol/frames.ts";
import { JobJoiner } from "@tollgate/protocol/jobs.ts";
import type { Clock } from "../clock.ts";
import type { Engine, EngineJob } from "../engines/engine.ts";
import { type Log, withoutMessage } from "../log.ts";
import { JobWriter } from "./job-writer.ts";
import type { Outbox } from "./outbox.ts";
import { engineJob, perform } from "./perform.ts";

/** The pieces of a job follow one another at once; if they do not, one was lost. */
const JOIN_MS_MAX = 10_000;
/** Jobs whose ids are remembered, so that one delivered twice runs once. */
const REMEMBERED_MAX = 1024;

export interface DeskOptions {
  engine: Engine;
  /** The models this node elected. */
  models: readonly string[];
  outbox: Outbox;
  clock: Clock;
  log: Log;
  /** Cuts the connection: for the scripted engine. */
  drop: () => void;
  /** A slot was taken or freed. */
  changed: () => void;
}

interface Joining {
  joiner: JobJoiner;
  cancelTimer: () => void;
}

interface Running {
  writer: JobWriter;
  controller: AbortController;
}

export class JobDesk {
  readonly #options: DeskOptions;
  readonly #models: ReadonlySet<string>;
  readonly #joining = new Map<string, Joining>();
  readonly #running = new Map<string, Running>();
  readonly #accepted = new Set<string>();
  #draining = false;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.#models = new Set(options.models);
  }

  get busy(): number {
    return this.#joining.size + this.#running.size;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** From now on everything new is refused. */
  drain(): void {
    this.#draining = true;
    this.#options.changed();
  }

  /** Ends every job at once and says nothing more about them. */
  abortAll(): void {
    for (const job of [...this.#joining.keys()]) this.#forget(job);
    for (const { controller, writer } of this.#running.values()) {
      writer.discard();
      controller.abort();
    }
  }

  receive(bytes: Uint8Array): void {
    let frame: Frame;
    try {
      frame = decode(bytes);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#options.log.warn({ reason: error.message }, "a frame from the plane is malformed");
      return;
    }
    if (frame.kind === "job") this.#offer(frame);
    else if (frame.kind === "piece") this.#join(frame);
    else if (frame.kind === "cancel") this.#cancel(frame.job);
  }

  #offer(frame: Extract<Frame, { kind: "job" }>): void {
    const { header } = frame;
    if (this.#joining.has(header.job) || this.#accepted.has(header.job)) return;
    const obstacle = this.#obstacle(header);
    if (obstacle !== undefined) {
      this.#refuse(header, obstacle);
      return;
    }
    this.#guarded(header, () => {
      const joiner = new JobJoiner(frame);
      if (joiner.complete) this.#begin(joiner);
      else this.#await(joiner);
    });
  }

  /** Why a job cannot run here now. The first piece of a large job tells: the rest is not waited for. */
  #obstacle(header: JobHeader): string | undefined {
    if (this.#draining) return "draining";
    if (this.busy >= this.#options.engine.slots) return "no free slot";
    return this.#models.has(header.model) ? undefined : "model not served";
  }

  #await(joiner: JobJoiner): void {
    const { header } = joiner;
    const cancelTimer = this.#options.clock.after(JOIN_MS_MAX, () => {
      this.#forget(header.job);
      this.#refuse(header, "its pieces did not all come");
    });
    this.#joining.set(header.job, { joiner, cancelTimer });
    this.#options.changed();
  }

  #join(frame: Extract<Frame, { kind: "piece" }>): void {
    const joining = this.#joining.get(frame.job);
    if (joining === undefined) return;
    const { joiner } = joining;
    this.#guarded(joiner.header, () => {
      joiner.add(frame);
      if (!joiner.complete) return;
      this.#forget(frame.job);
      this.#begin(joiner);
    });
  }

  /** Nothing ran yet: a job that cannot be read is refused, which costs the request nothing. */
  #guarded(header: JobHeader, step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#forget(header.job);
      this.#options.log.warn({ job: header.job, ...withoutMessage(error) }, "a job cannot be read");
      this.#refuse(header, "unreadable");
    }
  }

  #begin(joiner: JobJoiner): void {
    const { header } = joiner;
    const job = engineJob(header, joiner.body());
    if (this.#options.engine.refuses?.(job)) {
      this.#refuse(header, "the engine refuses it");
      return;
    }
    this.#remember(header.job);
    this.#run(header, job);
  }

  #run(header: JobHeader, job: EngineJob): void {
    const { engine, outbox, clock, changed, drop } = this.#options;
    const controller = new AbortController();
    const writer = new JobWriter(outbox, clock, header);
    const log = this.#options.log.child({ job: header.job, model: header.model, endpoint: header.endpoint });
    const started = clock.monotonic();
    this.#running.set(header.job, { writer, controller });
    writer.accepted();
    changed();
    perform({ engine, job, writer, signal: controller.signal, drop, log })
      .catch((error: unknown) => log.error(withoutMessage(error), "a job could not tell its ending"))
      .finally(() => {
        this.#running.delete(header.job);
        const ms = Math.round(clock.monotonic() - started);
        log.debug({ ms, cancelled: controller.signal.aborted }, "a job ended");
        changed();
      });
  }

  #cancel(job: string): void {
    this.#forget(job);
    const running = this.#running.get(job);
    running?.writer.discard();
    running?.controller.abort();
  }

  #forget(job: string): void {
    const joining = this.#joining.get(job);
    if (joining === undefined) return;
    joining.cancelTimer();
    this.#joining.delete(job);
    this.#options.changed();
  }

  #refuse(header: JobHeader, reason: string): void {
    this.#options.log.debug({ job: header.job, model: header.model, reason }, "a job was refused");
    this.#options.outbox.send(header.gateway, encode({ kind: "busy", job: header.job }));
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
