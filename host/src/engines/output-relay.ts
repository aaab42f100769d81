/**
 * Passes an engine's stream to the sink. It ends the stream at stop strings, limits its length, and never splits a
 * character. Output after the end is ignored.
 */
import type { OutputChannel } from "@tollgate/protocol/frames.ts";
import { StopStringMatcher } from "@tollgate/protocol/stop-strings.ts";
import type { FinishReason, GenerationJob, OutputSink } from "./engine.ts";
import { THINKING_MODELS } from "./model-names.ts";
import { OutputLimit } from "./output-limit.ts";
import type { StreamEvent } from "./profiles/engine-profile.ts";
import { ThinkingInText } from "./thinking-in-text.ts";

interface RelayOptions {
  job: GenerationJob;
  sink: Pick<OutputSink, "delta">;
  /** The model's context limit in the catalogue, if known. */
  contextTokens: number | undefined;
}

export class OutputRelay {
  readonly #sink: Pick<OutputSink, "delta">;
  readonly #stops: StopStringMatcher;
  readonly #thinking: ThinkingInText | undefined;
  readonly #bound: OutputLimit;
  readonly #halves: Record<OutputChannel, string> = { answer: "", reasoning: "" };
  readonly #gathers: boolean;
  /** Output of the current read that has not been sent yet. */
  #gathered: { channel: OutputChannel; text: string } | undefined;
  #cut: FinishReason | undefined;

  constructor({ job, sink, contextTokens }: RelayOptions) {
    this.#sink = sink;
    this.#gathers = job.gathers ?? false;
    this.#stops = new StopStringMatcher(job.sampling.stop);
    this.#thinking = THINKING_MODELS.includes(job.model) ? new ThinkingInText() : undefined;
    this.#bound = new OutputLimit(job.outputTokensMax, contextTokens);
  }

  /** The finish reason once the answer is over. The engine may still send more, which is ignored. */
  get cut(): FinishReason | undefined {
    return this.#cut;
  }

  take({ thinking, answer, promptTokens }: StreamEvent): void {
    if (this.#cut !== undefined) return;
    if (promptTokens !== undefined) this.#bound.promptIs(promptTokens);
    if (thinking !== undefined) this.#say("reasoning", thinking);
    if (answer !== undefined) this.#answer(answer);
    const chars = (thinking?.length ?? 0) + (answer?.length ?? 0);
    if (chars > 0 && this.#bound.exceededBy(chars) && this.#cut === undefined) {
      this.end();
      this.#cut = "length";
    }
  }

  /** Called when the engine has finished. Held-back text then belongs to the answer. */
  end(): void {
    if (this.#cut !== undefined) return;
    const rest = this.#thinking?.end() ?? "";
    const { text, stopped } = this.#stops.push(rest);
    this.#say("answer", stopped ? text : text + this.#stops.end());
    if (stopped) this.#cut = "stop";
    // An incomplete character at the end is dropped.
  }

  /** Sends the output of the current read. */
  flush(): void {
    const gathered = this.#gathered;
    if (gathered === undefined) return;
    this.#gathered = undefined;
    this.#sink.delta(gathered.channel, gathered.text);
  }

  #answer(said: string): void {
    let answer = said;
    if (this.#thinking !== undefined) {
      const parted = this.#thinking.push(said);
      this.#say("answer", parted.thinking);
      answer = parted.answer;
    }
    const { text, stopped } = this.#stops.push(answer);
    this.#say("answer", text);
    if (stopped) this.#cut = "stop";
  }

  /** Sends text. Engines may split a surrogate pair, so a half is kept until the other half arrives. */
  #say(channel: OutputChannel, said: string): void {
    if (said === "") return;
    const text = this.#halves[channel] + said;
    const endsInHalf = isFirstHalf(text.charCodeAt(text.length - 1));
    this.#halves[channel] = endsInHalf ? text.slice(-1) : "";
    const whole = endsInHalf ? text.slice(0, -1) : text;
    if (whole === "") return;
    if (!this.#gathers) this.#sink.delta(channel, whole);
    else if (this.#gathered?.channel === channel) this.#gathered.text += whole;
    else {
      this.flush();
      this.#gathered = { channel, text: whole };
    }
  }
}

const isFirstHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
