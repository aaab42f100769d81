/**
 * Carries a node's output to the client: parts thinking from answer, counts and caps both, and writes the answer to the
 * stream as it comes or keeps it for the end. A new attempt starts from nothing.
 */
import type { Channel } from "@tollgate/protocol/frames.ts";
import type { DispatchSink } from "../dispatch/offers.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import type { Meter, OutputCount, OutputMeter } from "../metering/meter.ts";
import type { Reply } from "./call.ts";
import type { StreamWriter } from "./endpoint.ts";
import { ThinkingSplitter } from "./thinking.ts";

export interface RelayOptions {
  model: ActiveModel;
  meter: Meter;
  outputTokensMax: number;
  /** How many vectors an embedding has to bring. */
  vectorsDue: number;
  /** Null when the answer goes out in one piece. */
  stream: { writer: StreamWriter; reply: Reply } | null;
}

export class Relay implements DispatchSink {
  readonly #options: RelayOptions;
  #output: OutputMeter;
  #splitter: ThinkingSplitter | undefined;
  #reached = false;
  /** Whether the node said anything at all in the current attempt, and the counts once that is complete. */
  #heard = false;
  #counts: OutputCount | undefined;
  text = "";
  reasoning = "";
  embeddings: Float32Array[] = [];

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#output = this.#newOutput();
    this.#splitter = this.#newSplitter();
  }

  get reachedClient(): boolean {
    return this.#reached;
  }

  begin(): void {
    this.#counts = undefined;
    if (!this.#heard) return;
    this.#output = this.#newOutput();
    this.#splitter = this.#newSplitter();
    this.#heard = false;
    this.text = "";
    this.reasoning = "";
    this.embeddings = [];
  }

  delta(channel: Channel, text: string): "more" | "enough" {
    this.#heard = true;
    if (this.#splitter === undefined) {
      // A build that does not think apart has one channel, whatever its engine calls it.
      this.#pass("answer", text);
    } else if (channel === "reasoning") {
      this.#pass("reasoning", text);
    } else {
      for (const part of this.#splitter.push(text)) this.#pass(part.channel, part.text);
    }
    return this.#output.full ? "enough" : "more";
  }

  vectors(first: number, width: number, values: Float32Array): "more" | "broken" {
    const { model, vectorsDue } = this.#options;
    const count = values.length / width;
    const fits = first === this.embeddings.length && first + count <= vectorsDue && width === model.build.vector_width;
    if (!fits) return "broken";
    this.#heard = true;
    for (let i = 0; i < count; i++) this.embeddings.push(values.slice(i * width, (i + 1) * width));
    return "more";
  }

  finished(): "answered" | "empty" | "broken" {
    if (this.embeddings.length < this.#options.vectorsDue) return "broken";
    const { answerTokens, reasoningTokens } = this.end();
    return answerTokens + reasoningTokens > 0 || this.embeddings.length > 0 ? "answered" : "empty";
  }

  /** Lets through what was held back, once the output is complete, and returns the exact counts. */
  end(): OutputCount {
    if (this.#counts === undefined) {
      for (const part of this.#splitter?.end() ?? []) this.#pass(part.channel, part.text);
      this.#counts = this.#output.end();
    }
    return this.#counts;
  }

  /** The counts of what was written to the stream: thinking comes with the end, and what is held back never came. */
  delivered(): OutputCount {
    return { answerTokens: this.#reached ? this.#output.end().answerTokens : 0, reasoningTokens: 0 };
  }

  #newOutput(): OutputMeter {
    return this.#options.meter.openOutput(this.#options.outputTokensMax);
  }

  #newSplitter(): ThinkingSplitter | undefined {
    const { reasoning } = this.#options.model.build;
    return reasoning === undefined ? undefined : new ThinkingSplitter(reasoning);
  }

  #pass(channel: Channel, text: string): void {
    const kept = this.#output.push(channel, text);
    if (kept === "") return;
    if (channel === "reasoning") {
      this.reasoning += kept;
      return;
    }
    const { stream } = this.#options;
    if (stream === null) {
      this.text += kept;
    } else {
      this.#reached = true;
      stream.reply.event(stream.writer.delta(kept));
    }
  }
}
