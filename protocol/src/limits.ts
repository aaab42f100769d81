/** Limits that both sides enforce. A larger frame is its sender's error. */

/** A large job travels in pieces of this size, below the 1 MB payload limit of a NATS server. */
export const JOB_PIECE_BYTES = 256 * 1024;
/** No frame is larger than this. */
export const FRAME_BYTES_MAX = 512 * 1024;
/** A request body is at most 10 MiB, and what a job carries is a part of it (JSON escapes can only shrink). */
export const JOB_BODY_BYTES_MAX = 12 * 1024 * 1024;
/** One more than the body needs, because the first frame may carry none of it. */
export const JOB_PIECES_MAX = 1 + Math.ceil(JOB_BODY_BYTES_MAX / JOB_PIECE_BYTES);
/** The limit for JSON frames (acceptance, failure, state). Parsing takes time, so peers must not be able to send more. */
export const CONTROL_FRAME_BYTES_MAX = 8 * 1024;
export const STATE_FRAME_BYTES_MAX = 48 * 1024;
export const SCORED_FRAME_BYTES_MAX = 16 * 1024;
/**
 * The text of one delta, and of all deltas of a frame; agents split longer text. Counting the worst text takes about 0.3 ms per KiB, which
 * blocks other requests.
 */
export const DELTA_TEXT_BYTES_MAX = 32 * 1024;
export const DELTAS_TEXT_BYTES_MAX = DELTA_TEXT_BYTES_MAX;
export const DELTAS_PER_FRAME_MAX = 1024;
/** An agent does not join tokens into one delta over a longer pause. */
export const JOINED_PAUSE_MS_MAX = 1_000;
export const VECTOR_WIDTH_MAX = 8192;
export const FAILURE_MESSAGE_CHARS_MAX = 500;
/** The number of vectors in a frame. Must match the agent's. */
export const VECTORS_PER_FRAME_MAX = 64;
/** The maximum number of scored tokens in a frame. */
export const SCORES_MAX = 512;
