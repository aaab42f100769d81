/**
 * Decides how many jobs an engine gets at once, by the gaps between a job's tokens. A gateway ends a job that sends
 * nothing for 2 s. Such gaps usually arise because the engine reads other prompts. The limit of prompts read at once
 * doubles every second while gaps are narrow and prompts wait. A wide gap halves the limit, which then grows more
 * slowly. If a gap is wide although at most one prompt was being read, the engine runs too many jobs, so the slots are
 * reduced. All functions are pure.
 */

/** The initial limit of prompts read at once, before any gap between tokens was measured. */
const READERS_FIRST = 16;
/** A shorter gap between two tokens of a job shows that the engine can run more jobs. */
export const NARROW_TOKEN_GAP_MS = 500;
const GAP_WIDE_MS = 700;
/** While at most one prompt is being read, only a longer gap than this lowers the limit of running jobs. */
const GAP_TOO_WIDE_MS = 1_000;
/** Many jobs see the same pause. Within this time, the limits are lowered only once. */
const LOWERED_ONCE_MS = 700;
const READERS_CALM_MS = 1_000;
const SLOTS_CALM_MS = 5_000;

export interface SlotLimits {
  /** The limit of prompts that the engine reads at once. */
  readers: number;
  /** True until the first wide gap. Until then `readers` grows faster. */
  isNew: boolean;
  /** The limit of jobs that run at once. */
  slots: number;
  /** When `readers` was last raised, or a gap was last not narrow. It rises only `READERS_CALM_MS` after that. */
  readersSince: number;
  /** When `slots` was last raised, or a gap was last not narrow. It rises only `SLOTS_CALM_MS` after that. */
  slotsSince: number;
  loweredAt: number;
}

export const initialSlotLimits = (slotsMax: number, now: number): SlotLimits => ({
  readers: Math.min(READERS_FIRST, Math.max(1, slotsMax)),
  isNew: true,
  slots: slotsMax,
  readersSince: now,
  slotsSince: now,
  loweredAt: Number.NEGATIVE_INFINITY,
});

interface TokenGap {
  ms: number;
  /** The highest number of jobs that ran at a time during the gap between two tokens. */
  running: number;
  /** The highest number of prompts that were being read at a time during the gap. */
  reading: number;
  now: number;
}

/** Lowers the limits after a gap: a job waited `ms` for its next token, or still waits. */
export function lowerLimitsAfterTokenGap(state: SlotLimits, { ms, running, reading, now }: TokenGap): SlotLimits {
  if (ms < NARROW_TOKEN_GAP_MS) return state;
  const noticed = { ...state, isNew: state.isNew && ms < GAP_WIDE_MS, readersSince: now, slotsSince: now };
  if (ms < GAP_WIDE_MS || now - state.loweredAt < LOWERED_ONCE_MS) return noticed;
  if (reading > 1 && state.readers > 1)
    return { ...noticed, readers: Math.max(1, Math.floor(Math.min(state.readers, reading) / 2)), loweredAt: now };
  // If only one job is running, other jobs did not cause the gap.
  if (ms < GAP_TOO_WIDE_MS || running < 2) return noticed;
  const fits = Math.floor((Math.min(state.slots, running) * 3) / 4);
  // A pause with few jobs may have another cause, so one pause removes at most half of the slots.
  const slots = Math.max(1, fits, Math.floor(state.slots / 2));
  return { ...noticed, slots, loweredAt: now };
}

interface LoadWithoutGaps {
  slotsMax: number;
  /** `waits`: a prompt waits to be read. `full`: every slot is in use. */
  waits: boolean;
  full: boolean;
  now: number;
}

/** Raises the limits a little if there is demand. Called while no gap between a job's tokens is wide. */
export function raiseLimitsWhileNoGapIsWide(
  state: SlotLimits,
  { slotsMax, waits, full, now }: LoadWithoutGaps,
): SlotLimits {
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

/** Adapts the limits when the engine's own number of slots has changed. */
export const resizeLimits = (state: SlotLimits, before: number, slotsMax: number): SlotLimits => ({
  ...state,
  readers: Math.max(1, Math.min(state.readers, slotsMax)),
  slots: state.slots >= before ? slotsMax : Math.min(state.slots, slotsMax),
});
