/**
 * Passes a node's output to the client: separates thinking from the answer, ends the answer before a stop string,
 * counts and limits the tokens of both, and streams or collects the answer. A new attempt starts from the beginning.
 */
import type { Endpoint, OutputChannel, Sampling } from "@tollgate/protocol/frames.ts";
import { StopStringMatcher } from "@tollgate/protocol/stop-strings.ts";
import type { DispatchSink } from "../dispatch/dispatch-request.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import type { OutputCount, OutputTokenMeter, TokenMeter } from "../metering/token-meter.ts";
import { ThinkingSplitter } from "./thinking-splitter.ts";

interface RelayOptions {
  model: ActiveModel;
  endpoint: Endpoint;
  meter: TokenMeter;
  outputTokensMax: number;
  /** The number of vectors that an embedding's answer must have. */
  vectorsDue: number;
  /** Strings that end the answer. Thinking is not searched for them. */
  stop?: readonly string[] | undefined;
  /** Whether the node's answer is drawn for a spot check. Then its text is kept, even if it is streamed. */
  draws?: ((nodeId: string) => boolean) | undefined;
  /** Receives streamed output. Null if the answer is sent as a whole. */
  stream: { delta(text: string): void; thought: ((text: string) => void) | null } | null;
}

/** Whether the chat template opens the thinking. Only chats use the template. */
export const templateOpensThinking = ({ build }: Pick<ActiveModel, "build">, endpoint: Endpoint): boolean =>
  endpoint === "chat" && build.reasoning?.template_opens === true;

/**
 * The sampling options for the node. Engines search all output for stop strings, so for models with thinking they get
 * none, and the gateway itself ends the answer.
 */
export function toNodeSamplingOptions({ build }: Pick<ActiveModel, "build">, sampling: Sampling): Sampling {
  if (build.reasoning === undefined) return sampling;
  const { stop: _, ...rest } = sampling;
  return rest;
}

export class Relay implements DispatchSink {
  readonly #options: RelayOptions;
  #output: OutputTokenMeter;
  #splitter: ThinkingSplitter | undefined;
  #stops: StopStringMatcher | undefined;
  #stopped = false;
  readonly #text = new TextPile();
  readonly #reasoning = new TextPile();
  #reached = false;
  #drawn = false;
  /** Whether the current attempt had any output. The next field has the token counts, once the output is complete. */
  #heard = false;
  #counts: OutputCount | undefined;
  embeddings: Float32Array[] = [];

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#output = this.#newOutput();
    this.#splitter = this.#newSplitter();
    this.#stops = this.#newStops();
  }

  get text(): string {
    return this.#text.toString();
  }

  get reasoning(): string {
    return this.#reasoning.toString();
  }

  /** Why the gateway ended the output; null if the node ended it. */
  get cut(): "stop" | "length" | null {
    if (this.#options.model.kind === "embedding") return null;
    if (this.#output.full) return "length";
    return this.#stopped ? "stop" : null;
  }

  get reachedClient(): boolean {
    return this.#reached;
  }

  /** Whether the answer is drawn for a spot check. */
  get isDrawn(): boolean {
    return this.#drawn;
  }

  begin(nodeId: string): void {
    this.#drawn = this.#options.draws?.(nodeId) ?? false;
    this.#counts = undefined;
    if (!this.#heard) return;
    this.#output = this.#newOutput();
    this.#splitter = this.#newSplitter();
    this.#stops = this.#newStops();
    this.#stopped = false;
    this.#heard = false;
    this.#text.clear();
    this.#reasoning.clear();
    this.embeddings = [];
  }

  /**
   * Handles text. A stop string at the start gives an empty but valid answer. An engine that applies the stop string
   * itself sends nothing, which looks like an empty answer, so another node is asked.
   */
  delta(channel: OutputChannel, text: string): "more" | "enough" | "broken" {
    // Text is a protocol violation for an embedding, and must not end it as an answer.
    if (this.#options.model.kind === "embedding") return "broken";
    this.#heard = true;
    if (this.#splitter === undefined) {
      // Output of a model without thinking is the answer, whichever channel its engine uses.
      this.#pass("answer", text);
    } else if (channel === "reasoning") {
      this.#splitter.isApart();
      this.#pass("reasoning", text);
    } else {
      for (const part of this.#splitter.push(text)) this.#pass(part.channel, part.text);
    }
    return this.cut === null ? "more" : "enough";
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
    const { answerTokens, reasoningTokens } = this.#close({ isWhole: true });
    return answerTokens + reasoningTokens > 0 || this.embeddings.length > 0 ? "answered" : "empty";
  }

  /** The exact token counts of the output, whether it is complete or was interrupted. */
  end(): OutputCount {
    return this.#close({ isWhole: false });
  }

  /**
   * The token counts of the output that was streamed to the client so far. Thinking counts only if this endpoint
   * streams it: otherwise it is sent at the end. Text that was held back does not count, because it was never sent.
   */
  delivered(): OutputCount {
    const { answerTokens, reasoningTokens } = this.#reached ? this.#output.end() : NOTHING;
    return { answerTokens, reasoningTokens: this.#options.stream?.thought == null ? 0 : reasoningTokens };
  }

  /** Sends the held-back text, and counts the output once. */
  #close({ isWhole }: { isWhole: boolean }): OutputCount {
    if (this.#counts === undefined) {
      for (const part of this.#splitter?.end({ isWhole }) ?? []) this.#pass(part.channel, part.text);
      if (this.#stops !== undefined) this.#write("answer", this.#stops.end());
      this.#counts = this.#output.end();
    }
    return this.#counts;
  }

  #newOutput(): OutputTokenMeter {
    return this.#options.meter.openOutput(this.#options.outputTokensMax);
  }

  #newSplitter(): ThinkingSplitter | undefined {
    const { model, endpoint } = this.#options;
    const { reasoning } = model.build;
    if (reasoning === undefined) return undefined;
    return new ThinkingSplitter(reasoning, { isOpened: templateOpensThinking(model, endpoint) });
  }

  #newStops(): StopStringMatcher | undefined {
    const { stop } = this.#options;
    return stop === undefined || stop.length === 0 ? undefined : new StopStringMatcher(stop);
  }

  #pass(channel: OutputChannel, text: string): void {
    if (this.#stopped) return;
    const cut = channel === "answer" ? this.#stops?.push(text) : undefined;
    this.#stopped = cut?.stopped ?? false;
    this.#write(channel, cut?.text ?? text);
  }

  #write(channel: OutputChannel, text: string): void {
    const kept = this.#output.push(channel, text);
    if (kept === "") return;
    const { stream } = this.#options;
    if (channel === "reasoning") {
      this.#reasoning.add(kept);
      if (stream?.thought != null) {
        this.#reached = true;
        stream.thought(kept);
      }
      return;
    }
    if (stream === null || this.#drawn) this.#text.add(kept);
    if (stream !== null) {
      this.#reached = true;
      stream.delta(kept);
    }
  }
}

const NOTHING: OutputCount = { answerTokens: 0, reasoningTokens: 0 };

/** How many small parts are joined at once. */
const LOOSE_MAX = 256;

/**
 * Collects text from many small parts. Repeated concatenation would build a chain of strings, which takes far more
 * memory than the text and blocks when it is read. So parts are joined regularly.
 */
class TextPile {
  #firm: string[] = [];
  #loose: string[] = [];

  add(part: string): void {
    this.#loose.push(part);
    if (this.#loose.length === LOOSE_MAX) this.#join();
  }

  clear(): void {
    this.#firm = [];
    this.#loose = [];
  }

  toString(): string {
    this.#join();
    // Joins all blocks, so that the next read is cheap.
    this.#firm = [this.#firm.join("")];
    return this.#firm[0] as string;
  }

  #join(): void {
    if (this.#loose.length === 0) return;
    this.#firm.push(this.#loose.join(""));
    this.#loose = [];
  }
}
