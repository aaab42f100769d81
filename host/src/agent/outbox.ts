/**
 * What the agent has to say to gateways. Deltas of all jobs of one gateway wait for the end of the event loop's turn and
 * leave in one frame; for clients that do not stream they may wait a little longer.
 */
import { encode } from "@tollgate/protocol/codec.ts";
import type { Delta } from "@tollgate/protocol/frames.ts";
import { DELTAS_PER_FRAME_MAX, FRAME_BYTES_MAX } from "@tollgate/protocol/limits.ts";
import type { Clock } from "../clock.ts";

/** A delta's bytes in a frame besides its job id and text, and a frame's besides its deltas. See the codec. */
const DELTA_OVERHEAD_BYTES = 9;
const FRAME_OVERHEAD_BYTES = 4;
const UNSTREAMED_WAIT_MS = 10;

export interface QueuedDelta {
  delta: Delta;
  /** UTF-8 bytes of the text. */
  bytes: number;
  /** It left: too late to add to it. */
  sent: boolean;
}

interface Lane {
  queue: QueuedDelta[];
  /** The turn's end was asked for. */
  soon: boolean;
  cancelTimer: (() => void) | undefined;
}

export type Publish = (gateway: string, bytes: Uint8Array) => void;

export class Outbox {
  readonly #clock: Clock;
  readonly #publish: Publish;
  /** Only gateways with something queued are here. */
  readonly #lanes = new Map<string, Lane>();

  constructor(clock: Clock, publish: Publish) {
    this.#clock = clock;
    this.#publish = publish;
  }

  queue(gateway: string, entry: QueuedDelta, stream: boolean): void {
    const lane = this.#lanes.get(gateway) ?? { queue: [], soon: false, cancelTimer: undefined };
    this.#lanes.set(gateway, lane);
    lane.queue.push(entry);
    const flush = (): void => {
      if (this.#lanes.get(gateway) === lane) this.flush(gateway);
    };
    if (stream && !lane.soon) {
      lane.soon = true;
      this.#clock.soon(flush);
    } else if (!stream && !lane.soon && lane.cancelTimer === undefined) {
      lane.cancelTimer = this.#clock.after(UNSTREAMED_WAIT_MS, flush);
    }
  }

  /** Sends a frame at once, after everything queued for that gateway. */
  send(gateway: string, bytes: Uint8Array): void {
    this.flush(gateway);
    this.#publish(gateway, bytes);
  }

  flush(gateway: string): void {
    const lane = this.#lanes.get(gateway);
    if (lane === undefined) return;
    lane.cancelTimer?.();
    this.#lanes.delete(gateway);
    for (const frame of cutFrames(lane.queue)) {
      this.#publish(gateway, encode({ kind: "deltas", deltas: frame }));
    }
  }

  flushAll(): void {
    for (const gateway of [...this.#lanes.keys()]) this.flush(gateway);
  }

  /** Forgets what is queued for one job. */
  discard(gateway: string, job: string): void {
    const lane = this.#lanes.get(gateway);
    if (lane !== undefined) lane.queue = lane.queue.filter((entry) => entry.delta.job !== job);
  }
}

function* cutFrames(queue: readonly QueuedDelta[]): Generator<Delta[]> {
  let deltas: Delta[] = [];
  let bytes = FRAME_OVERHEAD_BYTES;
  for (const entry of queue) {
    const more = DELTA_OVERHEAD_BYTES + entry.delta.job.length + entry.bytes;
    if (deltas.length === DELTAS_PER_FRAME_MAX || bytes + more > FRAME_BYTES_MAX) {
      yield deltas;
      deltas = [];
      bytes = FRAME_OVERHEAD_BYTES;
    }
    entry.sent = true;
    deltas.push(entry.delta);
    bytes += more;
  }
  if (deltas.length > 0) yield deltas;
}
