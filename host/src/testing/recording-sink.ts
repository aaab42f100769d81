/** Test helper: a sink that records its output. */
import type { OutputChannel } from "@tollgate/protocol/frames.ts";
import type { GenerationJob, OutputSink } from "../engines/engine.ts";

export class RecordingSink implements OutputSink {
  readonly deltas: { channel: OutputChannel; text: string }[] = [];
  readonly fractions: number[] = [];
  /** Runs at every delta. */
  heard: () => void = () => {};

  delta(channel: OutputChannel, text: string): void {
    this.deltas.push({ channel, text });
    this.heard();
  }

  progress(fraction: number): void {
    this.fractions.push(fraction);
  }

  text(channel: OutputChannel): string {
    return this.deltas
      .filter((delta) => delta.channel === channel)
      .map((delta) => delta.text)
      .join("");
  }
}

export const JOB_ID = "06dfkq2m7v8x9zabcdefghjkmn-01";

export function chatJob(content: string, rest: Partial<GenerationJob> = {}): GenerationJob {
  return {
    id: JOB_ID,
    attempt: 1,
    model: "tiny-3b",
    endpoint: "chat",
    input: { messages: [{ role: "user", content }] },
    sampling: {},
    outputTokensMax: 8192,
    ...rest,
  };
}
