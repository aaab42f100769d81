/**
 * The fake engine's streams: paced by one timer for all of them, or as fast as the reader takes them. The events bypass
 * Node's response, which has written the head; they are chunks already.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { burst, ENDING, ENDING_EVENTS, OPENING, stampedEvent, wordEvent } from "./pieces.ts";

/** One paced event in so many tells when it was written. */
const STAMP_EVERY = 10;

export interface Pace {
  tokens: number;
  /** Between two events of one stream; 0: no pause. */
  delayMs: number;
  /** Events per write where there is no pause. */
  burst: number;
}

interface Stream {
  response: ServerResponse;
  socket: Socket;
  left: number;
  over: boolean;
}

export class Streams {
  readonly #pace: Pace;
  readonly #wheel: Wheel;
  live = 0;
  events = 0;
  aborted = 0;

  constructor(pace: Pace) {
    this.#pace = pace;
    this.#wheel = new Wheel(Math.max(1, pace.delayMs));
  }

  start(response: ServerResponse, tokens: number): void {
    const { socket } = response;
    if (socket === null) return;
    response.writeHead(200, {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      "transfer-encoding": "chunked",
    });
    response.flushHeaders();
    socket.setNoDelay(true);
    const stream: Stream = { response, socket, left: tokens, over: false };
    this.live++;
    response.once("close", () => {
      this.live--;
      if (!stream.over) this.aborted++;
      stream.over = true;
    });
    this.events++;
    socket.write(OPENING);
    if (this.#pace.delayMs === 0) this.#pour(stream);
    else this.#wheel.add((bytes) => this.#tick(stream, bytes));
  }

  /** Returns false when the stream wants no more turns. */
  #tick(stream: Stream, bytes: Buffer): boolean {
    if (stream.over) return false;
    this.events++;
    stream.socket.write(bytes);
    stream.left--;
    if (stream.left > 0) return true;
    this.#finish(stream);
    return false;
  }

  #pour(stream: Stream): void {
    if (stream.over) return;
    const events = Math.min(this.#pace.burst, stream.left);
    stream.left -= events;
    this.events += events;
    const more = stream.socket.write(burst(events));
    if (stream.left === 0) this.#finish(stream);
    else if (more) setImmediate(() => this.#pour(stream));
    else stream.socket.once("drain", () => this.#pour(stream));
  }

  #finish(stream: Stream): void {
    this.events += ENDING_EVENTS;
    stream.over = true;
    stream.socket.write(ENDING);
    stream.response.end();
  }
}

type Turn = (bytes: Buffer) => boolean;

/**
 * A slot for every millisecond of the pause, and the streams spread over them: one timer instead of one per stream. It
 * keeps to the wall clock, because timers of a millisecond are late under load; what is too late by a whole round is
 * left out rather than sent in a heap.
 */
class Wheel {
  readonly #slots: { turns: Set<Turn>; rounds: number }[];
  #timer: NodeJS.Timeout | undefined;
  #position = 0;
  #startedAt = 0;
  #count = 0;
  #added = 0;

  constructor(slots: number) {
    this.#slots = Array.from({ length: slots }, () => ({ turns: new Set(), rounds: 0 }));
  }

  add(turn: Turn): void {
    if (this.#timer === undefined) {
      this.#startedAt = performance.now();
      this.#position = 0;
      this.#timer = setInterval(() => this.#advance(), 1);
    }
    this.#slots[this.#added++ % this.#slots.length]?.turns.add(turn);
    this.#count++;
  }

  #advance(): void {
    const due = Math.floor(performance.now() - this.#startedAt);
    for (let steps = 0; this.#position < due && steps < this.#slots.length; steps++) {
      const slot = this.#slots[this.#position++ % this.#slots.length];
      if (slot === undefined || slot.turns.size === 0) continue;
      const bytes = slot.rounds++ % STAMP_EVERY === 0 ? stampedEvent() : wordEvent(slot.rounds);
      for (const turn of slot.turns) if (!turn(bytes)) this.#drop(slot.turns, turn);
    }
    this.#position = Math.max(this.#position, due);
  }

  #drop(turns: Set<Turn>, turn: Turn): void {
    turns.delete(turn);
    this.#count--;
    if (this.#count > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
