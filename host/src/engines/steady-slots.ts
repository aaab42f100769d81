/**
 * Decides how many jobs an engine gets at once, by the gaps between a job's tokens. A gateway ends a job that is silent for 2 s, usually
 * because the engine reads other prompts meanwhile. The number of prompts read at once doubles every second while gaps are narrow and
 * prompts wait. A wide gap halves it, and afterwards it grows more slowly. If a gap is wide although at most one prompt was being read, the
 * engine runs too many jobs and gets fewer. Pure.
 */

/** The initial value, before the engine was seen working. */
const READERS_FIRST = 16;
/** A gap below this shows that more jobs fit. */
export const GAP_NARROW_MS = 500;
const GAP_WIDE_MS = 700;
/** Too wide even with one prompt at a time. */
const GAP_TOO_WIDE_MS = 1_000;
/** Many jobs see the same pause, which counts once. */
const LOWERED_ONCE_MS = 700;
const READERS_CALM_MS = 1_000;
const SLOTS_CALM_MS = 5_000;

export interface SteadySlots {
  /** The number of prompts that the engine reads at once. */
  readers: number;
  /** No gap was wide yet. */
  isNew: boolean;
  /** The number of jobs that run at once. */
  slots: number;
  /** When the last gap that was not narrow began, or either number changed. */
  readersSince: number;
  slotsSince: number;
  loweredAt: number;
}

export const firstSlots = (slotsMax: number, now: number): SteadySlots => ({
  readers: Math.min(READERS_FIRST, Math.max(1, slotsMax)),
  isNew: true,
  slots: slotsMax,
  readersSince: now,
  slotsSince: now,
  loweredAt: Number.NEGATIVE_INFINITY,
});

interface Gap {
  ms: number;
  /** The highest numbers of running jobs and of prompts being read since its previous token. */
  running: number;
  reading: number;
  now: number;
}

/** A job waited this long for its next token, or still waits. */
export function afterGap(state: SteadySlots, { ms, running, reading, now }: Gap): SteadySlots {
  if (ms < GAP_NARROW_MS) return state;
  const noticed = { ...state, isNew: state.isNew && ms < GAP_WIDE_MS, readersSince: now, slotsSince: now };
  if (ms < GAP_WIDE_MS || now - state.loweredAt < LOWERED_ONCE_MS) return noticed;
  if (reading > 1 && state.readers > 1)
    return { ...noticed, readers: Math.max(1, Math.floor(Math.min(state.readers, reading) / 2)), loweredAt: now };
  // If only one job runs, other jobs are not the cause.
  if (ms < GAP_TOO_WIDE_MS || running < 2) return noticed;
  const fits = Math.floor((Math.min(state.slots, running) * 3) / 4);
  // A pause with few jobs may have another cause, so a single one does not remove most of the slots.
  const slots = Math.max(1, fits, Math.floor(state.slots / 2));
  return { ...noticed, slots, loweredAt: now };
}

interface Calm {
  slotsMax: number;
  /** A prompt waits to be read, or every slot is in use. */
  waits: boolean;
  full: boolean;
  now: number;
}

/** Called when nothing was wide: grows a little if there is demand. */
export function afterCalm(state: SteadySlots, { slotsMax, waits, full, now }: Calm): SteadySlots {
  let next = state;
  if (waits && now - state.readersSince >= READERS_CALM_MS)
    next = {
      ...next,
      readers: Math.min(slotsMax, state.readers + more(state.readers, state.isNew ? 1 : 4)),
      readersSince: now,
    };
  if (full && state.slots < slotsMax && now - state.slotsSince >= SLOTS_CALM_MS)
    next = { ...next, slots: Math.min(slotsMax, state.slots + more(state.slots, 4)), slotsSince: now };
  return next;
}

const more = (now: number, part: number): number => Math.max(1, Math.floor(now / part));

/** The engine's own number of slots changed. */
export const afterResize = (state: SteadySlots, before: number, slotsMax: number): SteadySlots => ({
  ...state,
  readers: Math.max(1, Math.min(state.readers, slotsMax)),
  slots: state.slots >= before ? slotsMax : Math.min(state.slots, slotsMax),
});
