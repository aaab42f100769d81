/**
 * Runs periodic tasks on a shared timer with half-second beats. So an idle process wakes up once for all tasks, and not
 * at all when none is due. Tasks with a period of two seconds or a multiple share every fourth beat.
 */
export const SHARED_TIMER_BEAT_MS = 500;
/**
 * A task runs only on beats whose number is a multiple of its measure. The measure is the first of these numbers that
 * divides the task's period in beats. So tasks with longer periods run on the same beats.
 */
const MEASURES = [4, 2, 1];
/** The tolerance for timers that fire slightly early. */
const EARLY_MS = 10;

interface Repeated {
  everyBeats: number;
  /** The number of the beat at which the task is due, counted from the clock's zero. */
  dueBeat: number;
  task: () => void;
}

/** The functions of a clock that are needed here. */
interface Timers {
  monotonic(): number;
  after(delayMs: number, task: () => void): () => void;
}

export function openSharedTimer(clock: Timers): (periodMs: number, task: () => void) => () => void {
  const all = new Set<Repeated>();
  let armedFor = Number.POSITIVE_INFINITY;
  let cancel = (): void => {};
  const beatNow = (): number => Math.floor((clock.monotonic() + EARLY_MS) / SHARED_TIMER_BEAT_MS);

  const arm = (beat: number): void => {
    if (beat >= armedFor) return;
    cancel();
    armedFor = beat;
    cancel = clock.after(Math.max(1, Math.ceil(beat * SHARED_TIMER_BEAT_MS - clock.monotonic())), run);
  };
  const run = (): void => {
    armedFor = Number.POSITIVE_INFINITY;
    const beat = beatNow();
    const due = [...all].filter(({ dueBeat }) => dueBeat <= beat);
    for (const each of due) {
      // After a pause of the process, a task with several missed runs runs only once.
      const missed = Math.floor((beat - each.dueBeat) / each.everyBeats);
      each.dueBeat += (missed + 1) * each.everyBeats;
    }
    // Sets the next timer before the tasks run, because a task may throw, and may add or remove tasks.
    let next = Number.POSITIVE_INFINITY;
    for (const { dueBeat } of all) next = Math.min(next, dueBeat);
    arm(next);
    for (const each of due) if (all.has(each)) each.task();
  };
  return (periodMs, task) => {
    const everyBeats = periodMs / SHARED_TIMER_BEAT_MS;
    const measure = MEASURES.find((beats) => everyBeats % beats === 0) ?? 1;
    const dueBeat = Math.floor((beatNow() + everyBeats) / measure) * measure;
    const each = { everyBeats, dueBeat, task };
    all.add(each);
    arm(dueBeat);
    return () => {
      all.delete(each);
      if (all.size > 0) return;
      cancel();
      armedFor = Number.POSITIVE_INFINITY;
    };
  };
}
