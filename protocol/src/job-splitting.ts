/** Splits jobs into pieces (in the gateway) and joins them (in the node). */
import { FrameError } from "./frame-codec.ts";
import { JOB_BODY_BYTES_MAX, JOB_PIECE_BYTES } from "./frame-limits.ts";
import { ChatBody, CompletionBody, EmbeddingBody, type Frame, type JobBody, type JobHeader } from "./frames.ts";

const SCHEMAS = { chat: ChatBody, completion: CompletionBody, embedding: EmbeddingBody };

type JobFrame = Extract<Frame, { kind: "job" } | { kind: "piece" }>;

/**
 * Splits a job into frames. `body` may already be JSON in UTF-8. `later`: the first frame carries nothing of the body.
 */
export function splitJob(
  header: Omit<JobHeader, "body_bytes" | "pieces">,
  body: JobBody | Uint8Array,
  { later = false }: { later?: boolean } = {},
): JobFrame[] {
  const bytes = body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body));
  if (bytes.length > JOB_BODY_BYTES_MAX)
    throw new FrameError(`a job body of ${bytes.length} bytes exceeds the limit of ${JOB_BODY_BYTES_MAX}`);
  const withFirst = later ? 0 : JOB_PIECE_BYTES;
  const pieces = 1 + Math.ceil(Math.max(0, bytes.length - withFirst) / JOB_PIECE_BYTES);
  const whole: JobHeader = { ...header, body_bytes: bytes.length, pieces };
  const frames: JobFrame[] = [{ kind: "job", header: whole, piece: bytes.subarray(0, withFirst) }];
  for (let index = 1; index < pieces; index++) {
    const from = withFirst + (index - 1) * JOB_PIECE_BYTES;
    frames.push({ kind: "piece", job: header.job, index, piece: bytes.subarray(from, from + JOB_PIECE_BYTES) });
  }
  return frames;
}

/** Joins the pieces of one job. They arrive in order, because they are sent on one subject. */
export class JobJoiner {
  readonly header: JobHeader;
  readonly #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(first: Extract<Frame, { kind: "job" }>) {
    this.header = first.header;
    this.#push(first.piece);
  }

  add(next: Extract<Frame, { kind: "piece" }>): void {
    if (next.index !== this.#pieces.length)
      throw new FrameError(
        `piece ${next.index} of the body of job ${next.job} arrived instead of piece ${this.#pieces.length}`,
      );
    this.#push(next.piece);
  }

  get complete(): boolean {
    return this.#pieces.length === this.header.pieces;
  }

  body(): JobBody {
    if (!this.complete || this.#bytes !== this.header.body_bytes)
      throw new FrameError(`only ${this.#bytes} of ${this.header.body_bytes} bytes of job ${this.header.job} arrived`);
    const result = SCHEMAS[this.header.endpoint].safeParse(JSON.parse(Buffer.concat(this.#pieces).toString("utf8")));
    if (!result.success)
      throw new FrameError(`the body of job ${this.header.job} does not match its endpoint`, { cause: result.error });
    return result.data;
  }

  #push(piece: Uint8Array): void {
    this.#bytes += piece.length;
    if (this.#pieces.length >= this.header.pieces || this.#bytes > this.header.body_bytes)
      throw new FrameError(`job ${this.header.job} has more bytes or pieces than its header declares`);
    // The piece is copied, because the transport may reuse its buffer.
    this.#pieces.push(Uint8Array.from(piece));
  }
}
