/** Counts the events of one stream, however it is cut, and reads the stamps that tell when the engine wrote them. */
import { nowUs } from "./times.ts";

const EVENT_END = Buffer.from("\n\n");
const STAMP = Buffer.from(" @");
const DONE = Buffer.from("[DONE]");
/** The end of a stream, long enough to hold its marker. */
const TAIL_BYTES = 16;
const NOTHING: Buffer = Buffer.alloc(0);
const [LINE_FEED, QUOTE] = [10, 34];
/** A stamp that would mean more than a minute is text that looks like one. */
const STAMP_AGE_US_MAX = 60_000_000;

export class EventCounter {
  readonly #onStamp: ((ageUs: number) => void) | undefined;
  #lastByte = 0;
  #tail = NOTHING;
  events = 0;

  constructor(onStamp: ((ageUs: number) => void) | undefined) {
    this.#onStamp = onStamp;
  }

  /** Whether the stream closed with its marker. */
  get done(): boolean {
    return this.#tail.includes(DONE);
  }

  take(bytes: Buffer): void {
    // The end of an event may be split over two reads.
    if (this.#lastByte === LINE_FEED && bytes[0] === LINE_FEED) this.events++;
    for (let i = bytes.indexOf(EVENT_END); i >= 0; i = bytes.indexOf(EVENT_END, i + 2)) this.events++;
    this.#lastByte = bytes[bytes.length - 1] ?? 0;
    this.#tail = bytes.length >= TAIL_BYTES ? bytes : Buffer.concat([this.#tail.subarray(-TAIL_BYTES), bytes]);
    if (this.#onStamp !== undefined) this.#readStamps(bytes, this.#onStamp);
  }

  #readStamps(bytes: Buffer, take: (ageUs: number) => void): void {
    for (let i = bytes.indexOf(STAMP); i >= 0; i = bytes.indexOf(STAMP, i + 2)) {
      const end = bytes.indexOf(QUOTE, i);
      if (end < 0) return;
      const ageUs = nowUs() - Number.parseInt(bytes.toString("latin1", i + STAMP.length, end), 36);
      if (ageUs >= 0 && ageUs < STAMP_AGE_US_MAX) take(ageUs);
    }
  }
}
