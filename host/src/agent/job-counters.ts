/** Counts jobs and output characters for the live screen, without storing text. */
import type { JobHeader } from "@tollgate/protocol/frames.ts";
import type { Clock } from "../clock.ts";
import type { RunningJob } from "./agent-snapshot.ts";

const WINDOW_SECONDS = 10;
/** The usual ratio for English and code. It is only used on the live screen; the gateway counts exactly. */
const CHARS_PER_TOKEN = 4;

export type JobOutcome = "done" | "failed" | "cancelled" | "refused";

export class JobCounters {
  readonly #clock: Clock;
  readonly #running = new Set<JobRecord>();
  readonly #outcomes: Record<JobOutcome, number> = { done: 0, failed: 0, cancelled: 0, refused: 0 };
  /** Output characters of each of the last seconds, indexed by the second modulo the window. */
  readonly #said = Array.from({ length: WINDOW_SECONDS }, () => ({ second: -1, chars: 0 }));

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called when a job was accepted. */
  begin(header: JobHeader): JobRecord {
    const record = new JobRecord(header, this.#clock.monotonic(), (chars) => this.#count(chars));
    this.#running.add(record);
    return record;
  }

  end(record: JobRecord, outcome: JobOutcome): void {
    this.#running.delete(record);
    this.#outcomes[outcome]++;
  }

  refused(): void {
    this.#outcomes.refused++;
  }

  get outcomes(): Readonly<Record<JobOutcome, number>> {
    return this.#outcomes;
  }

  get running(): RunningJob[] {
    const now = this.#clock.monotonic();
    return [...this.#running].map((record) => record.at(now));
  }

  get tokensPerSecond(): number {
    const second = this.#second();
    const recent = this.#said.filter((bucket) => bucket.second > second - WINDOW_SECONDS);
    return recent.reduce((sum, { chars }) => sum + chars, 0) / CHARS_PER_TOKEN / WINDOW_SECONDS;
  }

  #count(chars: number): void {
    const second = this.#second();
    const bucket = this.#said[second % WINDOW_SECONDS] as { second: number; chars: number };
    if (bucket.second !== second) bucket.chars = 0;
    bucket.second = second;
    bucket.chars += chars;
  }

  #second(): number {
    return Math.floor(this.#clock.monotonic() / 1000);
  }
}

/** The counters of one running job. */
export class JobRecord {
  readonly #header: JobHeader;
  readonly #since: number;
  readonly #count: (chars: number) => void;
  #outputChars = 0;
  #vectors = 0;
  #promptRead: number | undefined;

  constructor(header: JobHeader, since: number, count: (chars: number) => void) {
    this.#header = header;
    this.#since = since;
    this.#count = count;
  }

  said(chars: number): void {
    this.#outputChars += chars;
    this.#promptRead = undefined;
    this.#count(chars);
  }

  gaveVector(): void {
    this.#vectors++;
  }

  /** Records the processed fraction of the prompt. 0 only means that the engine is working, so it is not shown. */
  read(fraction: number): void {
    if (this.#outputChars === 0 && fraction > 0) this.#promptRead = fraction;
  }

  at(now: number): RunningJob {
    const { job, model, endpoint } = this.#header;
    return {
      job,
      model,
      endpoint,
      seconds: (now - this.#since) / 1000,
      outputChars: this.#outputChars,
      vectors: this.#vectors,
      promptRead: this.#promptRead,
    };
  }
}
