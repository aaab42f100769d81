/**
 * Wraps an engine and limits its load by the rule in slot-limits.ts. It measures the gaps between the tokens of each
 * job. Prompts wait here while the engine reads enough others, and the gateway gets progress reports meanwhile. If that
 * does not suffice, the agent announces fewer slots.
 */
import type { Clock } from "../clock.ts";
import type { Engine, EngineAvailability, FinishReason, GenerationJob, OutputSink } from "./engine.ts";
import {
  initialSlotLimits,
  lowerLimitsAfterTokenGap,
  NARROW_TOKEN_GAP_MS,
  raiseLimitsWhileNoGapIsWide,
  resizeLimits,
  type SlotLimits,
} from "./slot-limits.ts";

const LOOK_EVERY_MS = 250;
/** The number of stored load samples. Together they cover the longest gap that a gateway allows. */
const PAST_LOOKS = 12;
const TELL_EVERY_MS = 1_000;
/**
 * A gateway ends a job whose prompt is not read for 10 s. After this shorter time, a waiting prompt is passed to the
 * engine anyway. Resulting wide gaps then reduce the slots.
 */
const WAIT_MS_MAX = 4_000;

interface Run {
  /** The time of the job's last token. Undefined while its prompt is being read. */
  heardAt: number | undefined;
}

interface Load {
  running: number;
  reading: number;
}

export const limitEngineLoad = (engine: Engine, clock: Clock): Engine => {
  const steady = new Steady(engine, clock);
  return {
    ...engine,
    watch: (changed) => steady.watch(changed),
    generate: (job, sink, signal) => steady.generate(job, sink, signal),
  };
};

class Steady {
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #listeners = new Set<(now: EngineAvailability) => void>();
  readonly #runs = new Set<Run>();
  /** Prompts that wait to be read, with the time since which they wait. */
  readonly #waiting = new Map<() => void, number>();
  /** The highest load in each of the latest intervals. The last entry is the current interval. */
  #past: Load[] = [{ running: 0, reading: 0 }];
  #reading = 0;
  #inner: EngineAvailability;
  /** The engine's own number of slots. */
  #slotsMax: number;
  #state: SlotLimits;
  #told: number;
  #stopLooking: (() => void) | undefined;

  constructor(engine: Engine, clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
    this.#inner = { models: engine.models, slots: engine.slots };
    this.#slotsMax = engine.slots;
    this.#state = initialSlotLimits(engine.slots, clock.monotonic());
    this.#told = engine.slots;
  }

  watch(changed: (now: EngineAvailability) => void): () => void {
    this.#listeners.add(changed);
    const stop = this.#engine.watch?.((now) => {
      // An unreachable engine has no slots. That does not change its capacity, so the limits stay.
      if (now.slots > 0) {
        this.#state = resizeLimits(this.#state, this.#slotsMax, now.slots);
        this.#slotsMax = now.slots;
        this.#told = this.#state.slots;
      }
      this.#inner = now;
      changed(this.#now);
    });
    return () => {
      stop?.();
      this.#listeners.delete(changed);
    };
  }

  async generate(job: GenerationJob, sink: OutputSink, signal: AbortSignal): Promise<{ finish: FinishReason }> {
    if (!this.#hasRoom() && !(await this.#room(sink, signal))) return { finish: "stop" };
    const run: Run = { heardAt: undefined };
    this.#begin(run);
    const heard: OutputSink = {
      delta: (channel, text) => {
        this.#hear(run);
        sink.delta(channel, text);
      },
      progress: (fraction) => sink.progress(fraction),
    };
    try {
      return await this.#engine.generate(job, heard, signal);
    } finally {
      this.#end(run);
    }
  }

  get #now(): EngineAvailability {
    const { models, slots: slotsMax } = this.#inner;
    const slots = Math.min(this.#state.slots, slotsMax);
    return slots === slotsMax ? { models, slots } : { models, slots, slotsMax };
  }

  /**
   * Whether the engine may read another prompt. If it reads none, it may, so that a job that hangs does not block all
   * prompts.
   */
  #hasRoom(): boolean {
    if (this.#reading === 0) return true;
    return this.#waiting.size === 0 && this.#reading < this.#state.readers && this.#openGapMs() < NARROW_TOKEN_GAP_MS;
  }

  /** Waits until the prompt may be read. Returns false if the job was cancelled first. */
  async #room(sink: OutputSink, signal: AbortSignal): Promise<boolean> {
    let take = (): void => {};
    let leave = take;
    const turn = new Promise<boolean>((resolve) => {
      take = () => resolve(true);
      leave = () => resolve(false);
    });
    this.#waiting.set(take, this.#clock.monotonic());
    const stopTelling = this.#clock.every(TELL_EVERY_MS, () => sink.progress(0));
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave);
    const hasTurn = await turn;
    signal.removeEventListener("abort", leave);
    stopTelling();
    if (!this.#waiting.delete(take)) this.#reading--;
    if (!hasTurn || signal.aborted) this.#letIn();
    return hasTurn && !signal.aborted;
  }

  /** Admits waiting prompts in order while the limits allow it. Each counts as being read from then on. */
  #letIn(): void {
    if (this.#waiting.size === 0) return;
    const isNarrow = this.#openGapMs() < NARROW_TOKEN_GAP_MS;
    const now = this.#clock.monotonic();
    for (const [take, since] of this.#waiting) {
      const hasRoom = this.#reading === 0 || (isNarrow && this.#reading < this.#state.readers);
      if (!hasRoom && now - since < WAIT_MS_MAX) return;
      this.#waiting.delete(take);
      this.#reading++;
      take();
    }
  }

  #begin(run: Run): void {
    this.#runs.add(run);
    this.#reading++;
    this.#weigh();
    this.#stopLooking ??= this.#clock.every(LOOK_EVERY_MS, () => this.#look());
  }

  #hear(run: Run): void {
    const now = this.#clock.monotonic();
    const { heardAt } = run;
    run.heardAt = now;
    if (heardAt === undefined) {
      this.#reading--;
      this.#letIn();
    } else if (now - heardAt >= NARROW_TOKEN_GAP_MS) this.#notice(now - heardAt, now);
  }

  #end(run: Run): void {
    this.#runs.delete(run);
    if (run.heardAt === undefined) this.#reading--;
    this.#letIn();
    if (this.#runs.size > 0 || this.#waiting.size > 0) return;
    this.#stopLooking?.();
    this.#stopLooking = undefined;
    this.#past = [{ running: 0, reading: 0 }];
  }

  #look(): void {
    const now = this.#clock.monotonic();
    const openMs = this.#openGapMs();
    if (openMs >= NARROW_TOKEN_GAP_MS) this.#notice(openMs, now);
    const { slots } = this.#state;
    // If no job waits for its next token, there are no gaps to judge by.
    const hasGaps = this.#runs.size > this.#reading;
    this.#state = raiseLimitsWhileNoGapIsWide(this.#state, {
      slotsMax: this.#slotsMax,
      waits: hasGaps && this.#waiting.size > 0,
      full: this.#runs.size >= slots,
      now,
    });
    this.#past = [...this.#past.slice(1 - PAST_LOOKS), { running: 0, reading: 0 }];
    this.#weigh();
    this.#letIn();
    this.#tell();
  }

  #notice(ms: number, now: number): void {
    const within = this.#past.slice(-1 - Math.ceil(ms / LOOK_EVERY_MS));
    const most = (of: keyof Load): number => Math.max(...within.map((load) => load[of]));
    this.#state = lowerLimitsAfterTokenGap(this.#state, {
      ms,
      running: most("running"),
      reading: most("reading"),
      now,
    });
    this.#tell();
  }

  /** The longest time for which a job has been waiting for its next token. */
  #openGapMs(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { heardAt } of this.#runs) if (heardAt !== undefined && heardAt < oldest) oldest = heardAt;
    return oldest === Number.POSITIVE_INFINITY ? 0 : this.#clock.monotonic() - oldest;
  }

  #weigh(): void {
    const load = this.#past.at(-1) as Load;
    load.running = Math.max(load.running, this.#runs.size);
    load.reading = Math.max(load.reading, this.#reading);
  }

  #tell(): void {
    if (this.#state.slots === this.#told) return;
    this.#told = this.#state.slots;
    for (const changed of this.#listeners) changed(this.#now);
  }
}
