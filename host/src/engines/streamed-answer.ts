/** Converts the HTTP response of one generation: from bytes to events to output. */
import type { FinishReason } from "./engine.ts";
import { EngineUnreachable } from "./engine-http.ts";
import type { ReaderDemand } from "./job-connections.ts";
import type { JobWatchdog } from "./job-watchdog.ts";
import type { OutputRelay } from "./output-relay.ts";
import type { EngineApiDialect, StreamEvent } from "./profiles/engine-profile.ts";
import { StreamEventReader } from "./stream-event-reader.ts";
import { NdjsonReader, SseReader } from "./stream-framing.ts";

export class StreamedAnswer {
  readonly #relay: OutputRelay;
  readonly #watchdog: JobWatchdog;
  readonly #frames: SseReader | NdjsonReader;
  readonly #events: StreamEventReader;
  #finish: FinishReason | undefined;
  /** Whether the engine announced the end of the answer. */
  #over = false;

  constructor(dialect: EngineApiDialect, relay: OutputRelay, watchdog: JobWatchdog) {
    this.#relay = relay;
    this.#watchdog = watchdog;
    const comment = (text: string): void => this.#event(dialect.readComment?.(text));
    this.#frames = dialect.framing === "sse" ? new SseReader(comment) : new NdjsonReader();
    this.#events = new StreamEventReader(dialect.read);
  }

  take(bytes: Buffer): ReaderDemand {
    try {
      for (const data of this.#frames.push(bytes)) {
        this.#event(this.#events.read(data));
        if (this.#relay.cut !== undefined) return "cut";
      }
      return this.#over ? "enough" : "more";
    } finally {
      // Output is sent even before a failure, because it is billed.
      this.#relay.flush();
    }
  }

  /** Called when the response is over or enough has arrived. Throws if the response broke off. */
  finish(end: "enough" | "cut" | "over" | "broken"): FinishReason {
    if (this.#relay.cut !== undefined) return this.#relay.cut;
    if (end === "broken") throw new EngineUnreachable("engine", "the connection to the engine was lost");
    try {
      if (end === "over") this.#readRest();
      this.#relay.end();
    } finally {
      this.#relay.flush();
    }
    return this.#relay.cut ?? this.#finish ?? "stop";
  }

  #readRest(): void {
    for (const data of this.#frames.end()) this.#event(this.#events.read(data));
    if (this.#finish === undefined && !this.#over && this.#relay.cut === undefined)
      throw new EngineUnreachable("engine", "the engine's stream ended early");
  }

  #event(event: StreamEvent | undefined): void {
    if (event === undefined || this.#over) return;
    if (event.promptRead !== undefined) this.#watchdog.read(event.promptRead);
    if (event.thinking !== undefined || event.answer !== undefined) this.#watchdog.output();
    this.#relay.take(event);
    this.#finish = event.finish ?? this.#finish;
    this.#over = event.last ?? false;
  }
}
