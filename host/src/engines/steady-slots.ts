/**
 * How much an engine is given at once, by the gaps it leaves between the tokens of a job. A gateway ends a job that is silent for
 * 2 s, and the usual reason is that the engine reads the prompts of other jobs meanwhile. So the number of prompts that are read at
 * once doubles every second while gaps are narrow and prompts wait, until a gap is wide. That halves it, and from then on it grows
 * more slowly. Where a gap is wide although one prompt alone was read, or none, the engine runs too many jobs: then it is given fewer.
 *
 * Pure: values in, the next state out.
 */

/** Of a state that says no more: the engine was not seen at work. */
const READERS_FIRST = 16;
/** A gap below this shows that more jobs fit. */
export const GAP_NARROW_MS = 500;
const GAP_WIDE_MS = 700;
/** Wide even with one prompt at a time. */
const GAP_TOO_WIDE_MS = 1_000;
/** One pause is seen by many jobs: it counts once. */
const LOWERED_ONCE_MS = 700;
const READERS_CALM_MS = 1_000;
const SLOTS_CALM_MS = 5_000;

export interface SteadySlots {
  /** How many prompts the engine reads at once. */
  readers: number;
  /** No gap was wide yet. */
  isNew: boolean;
  /** How many jobs it runs at once. */
  slots: number;
  /** When the last gap began that was not narrow, or either number changed. */
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
  /** The most jobs that ran, and the most prompts that were read at once, since the last token before it. */
  running: number;
  reading: number;
  now: number;
}

/** A job waited so long for its next token, or has been waiting for so long. */
export function afterGap(state: SteadySlots, { ms, running, reading, now }: Gap): SteadySlots {
  if (ms < GAP_NARROW_MS) return state;
  const noticed = { ...state, isNew: state.isNew && ms < GAP_WIDE_MS, readersSince: now, slotsSince: now };
  if (ms < GAP_WIDE_MS || now - state.loweredAt < LOWERED_ONCE_MS) return noticed;
  if (reading > 1 && state.readers > 1)
    return { ...noticed, readers: Math.max(1, Math.floor(Math.min(state.readers, reading) / 2)), loweredAt: now };
  // To a job that is alone no one else is to blame.
  if (ms < GAP_TOO_WIDE_MS || running < 2) return noticed;
  const fits = Math.floor((Math.min(state.slots, running) * 3) / 4);
  // A pause with few jobs may have another reason: one alone does not take most of the slots.
  const slots = Math.max(1, fits, Math.floor(state.slots / 2));
  return { ...noticed, slots, loweredAt: now };
}

interface Calm {
  slotsMax: number;
  /** A prompt waits to be read; every slot is in use. */
  waits: boolean;
  full: boolean;
  now: number;
}

/** Nothing happened: where more is asked for, a little more is given. */
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

/** The engine takes another number at once than it did. */
export const afterResize = (state: SteadySlots, before: number, slotsMax: number): SteadySlots => ({
  ...state,
  readers: Math.max(1, Math.min(state.readers, slotsMax)),
  slots: state.slots >= before ? slotsMax : Math.min(state.slots, slotsMax),
});
