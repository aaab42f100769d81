/** Accepted jobs whose pieces are still arriving. A job that is not complete within the time limit fails. */
import type { Frame, JobHeader } from "@tollgate/protocol/frames.ts";
import type { JobJoiner } from "@tollgate/protocol/job-splitting.ts";
import type { Clock } from "../clock.ts";
import type { JobWriter } from "./job-writer.ts";

/** A gateway sends the pieces of a job without pause. A piece that is missing after this time was lost. */
const JOIN_MS_MAX = 10_000;

interface Accepted {
  joiner: JobJoiner;
  /** The writer that sent the job's acceptance. */
  writer: JobWriter;
}

interface Joining extends Accepted {
  cancelTimer: () => void;
}

export class IncompleteJobMessages {
  readonly #clock: Clock;
  readonly #giveUp: (header: JobHeader) => void;
  readonly #joining = new Map<string, Joining>();

  constructor(clock: Clock, giveUp: (header: JobHeader) => void) {
    this.#clock = clock;
    this.#giveUp = giveUp;
  }

  get size(): number {
    return this.#joining.size;
  }

  /** The total size of these jobs' bodies once they are complete. */
  get bytes(): number {
    let sum = 0;
    for (const { joiner } of this.#joining.values()) sum += joiner.header.body_bytes;
    return sum;
  }

  has(job: string): boolean {
    return this.#joining.has(job);
  }

  header(job: string): JobHeader | undefined {
    return this.#joining.get(job)?.joiner.header;
  }

  await(joiner: JobJoiner, writer: JobWriter): void {
    const { header } = joiner;
    const cancelTimer = this.#clock.after(JOIN_MS_MAX, () => {
      this.forget(header.job);
      this.#giveUp(header);
    });
    this.#joining.set(header.job, { joiner, writer, cancelTimer });
  }

  /**
   * Adds a piece. Returns the job if this piece completes it, otherwise undefined. Ignores pieces of unknown jobs.
   * Throws FrameError if the piece is out of order or the job becomes larger than it declared.
   */
  add(frame: Extract<Frame, { kind: "piece" }>): Accepted | undefined {
    const joining = this.#joining.get(frame.job);
    if (joining === undefined) return undefined;
    joining.joiner.add(frame);
    if (!joining.joiner.complete) return undefined;
    this.forget(frame.job);
    return joining;
  }

  /** Drops a job. Returns true if the job was incomplete. */
  forget(job: string): boolean {
    this.#joining.get(job)?.cancelTimer();
    return this.#joining.delete(job);
  }

  clear(): void {
    for (const job of [...this.#joining.keys()]) this.forget(job);
  }
}
