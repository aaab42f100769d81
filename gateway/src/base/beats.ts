/**
 * What is done every so many half seconds is done together: a process at rest wakes once for all of it, and not once for each, nor
 * when nothing is due. What is done every two seconds, or a multiple of that, meets on every fourth beat.
 */
export const BEAT_MS = 500;
/** Periods that one of these divides begin on a multiple of it, the first that does. */
const MEASURES = [4, 2, 1];
/** A timer may run a moment before its time. */
const EARLY_MS = 10;

interface Repeated {
  everyBeats: number;
  /** By its number, counted from the zero of the clock. */
  dueBeat: number;
  task: () => void;
}

/** Of a clock. */
interface Timers {
  monotonic(): number;
  after(delayMs: number, task: () => void): () => void;
}

export function openBeats(clock: Timers): (periodMs: number, task: () => void) => () => void {
  const all = new Set<Repeated>();
  let armedFor = Number.POSITIVE_INFINITY;
  let cancel = (): void => {};
  const beatNow = (): number => Math.floor((clock.monotonic() + EARLY_MS) / BEAT_MS);

  const arm = (beat: number): void => {
    if (beat >= armedFor) return;
    cancel();
    armedFor = beat;
    cancel = clock.after(Math.max(1, Math.ceil(beat * BEAT_MS - clock.monotonic())), run);
  };
  const run = (): void => {
    armedFor = Number.POSITIVE_INFINITY;
    const beat = beatNow();
    const due = [...all].filter(({ dueBeat }) => dueBeat <= beat);
    for (const each of due) {
      // One that comes late, as after a stop, is done once.
      const missed = Math.floor((beat - each.dueBeat) / each.everyBeats);
      each.dueBeat += (missed + 1) * each.everyBeats;
    }
    // Before they are done, because one may throw, and may begin or end others.
    let next = Number.POSITIVE_INFINITY;
    for (const { dueBeat } of all) next = Math.min(next, dueBeat);
    arm(next);
    for (const each of due) if (all.has(each)) each.task();
  };
  return (periodMs, task) => {
    const everyBeats = periodMs / BEAT_MS;
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
