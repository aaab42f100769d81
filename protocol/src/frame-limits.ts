/** Limits that gateway and agent enforce. A larger frame is an error of its sender. */

/** The size of the pieces into which a large job is split. It is below the 1 MB payload limit of a NATS server. */
export const JOB_PIECE_BYTES = 256 * 1024;
/** The maximum size of any frame. */
export const FRAME_BYTES_MAX = 512 * 1024;
/**
 * The maximum size of a job's body. A request's body is limited to 10 MiB, and the job contains only a part of it. The
 * gateway's JSON escapes no more characters than the client's had to, so that part does not grow.
 */
export const JOB_BODY_BYTES_MAX = 12 * 1024 * 1024;
/** One piece more than the body needs, because the first frame may carry none of the body. */
export const JOB_PIECES_MAX = 1 + Math.ceil(JOB_BODY_BYTES_MAX / JOB_PIECE_BYTES);
/**
 * The maximum size of JSON frames (acceptance, failure, state). Parsing takes time, so a peer must not be able to send
 * more.
 */
export const CONTROL_FRAME_BYTES_MAX = 8 * 1024;
export const STATE_FRAME_BYTES_MAX = 48 * 1024;
export const SCORED_FRAME_BYTES_MAX = 16 * 1024;
/**
 * The maximum text of one delta, and of all deltas in a frame. Agents split longer text. In the worst case, counting
 * the tokens of a text takes about 0.3 ms per KiB, which blocks other requests.
 */
export const DELTA_TEXT_BYTES_MAX = 32 * 1024;
export const DELTAS_FRAME_TEXT_BYTES_MAX = DELTA_TEXT_BYTES_MAX;
export const DELTAS_PER_FRAME_MAX = 1024;
/** An agent does not join tokens into one delta if the pause between them is longer than this. */
export const PAUSE_IN_JOINED_DELTA_MS_MAX = 1_000;
export const VECTOR_WIDTH_MAX = 8192;
export const FAILURE_MESSAGE_CHARS_MAX = 500;
/** The maximum number of vectors in a frame. Agents fill frames up to it, so gateways must not allow fewer. */
export const VECTORS_PER_FRAME_MAX = 64;
/** The maximum number of scored tokens in a frame. */
export const SCORES_PER_FRAME_MAX = 512;
