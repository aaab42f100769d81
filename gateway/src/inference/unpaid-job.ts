/**
 * Runs a job of the platform's own on one node: a probe (health check), a canary (request with a known answer) or a
 * host's trial request. It is processed like a request, up to the counted output, but not charged, paid or recorded.
 */
import type { Endpoint, JobBody, JobHeader, OutputFormat } from "@tollgate/protocol/frames.ts";
import type { CancelSignal } from "../base/cancel-signal.ts";
import { publicIdSuffix, type Uuid } from "../base/ids.ts";
import type { FinishReason } from "../base/stored-enumerations.ts";
import type { DispatchResult } from "../dispatch/dispatch-result.ts";
import type { ActiveModel } from "../metering/catalogue.ts";
import type { ChatMessage, Prompt } from "../metering/token-meter.ts";
import { computeOutputTokensLeft } from "./admit.ts";
import { Relay, toNodeSamplingOptions } from "./relay.ts";
import type { RequestPathDependencies } from "./request-path-dependencies.ts";

export interface UnpaidJob {
  id: Uuid;
  nodeId: string;
  model: ActiveModel;
  /** Absent: chat, or embeddings for an embedding model. */
  endpoint?: "chat" | "completion" | undefined;
  /** The prompt for a generation model. A completion has a single message. */
  messages: ChatMessage[];
  /** The inputs for an embedding model. */
  texts: string[];
  outputTokensMax: number;
  sampling?: JobHeader["sampling"] | undefined;
  /** The output format. Only for nodes that announced the model under `json_schema`. */
  format?: OutputFormat | undefined;
  /** Undefined: streamed, so that the node's pace can be measured. */
  stream?: boolean | undefined;
}

export interface UnpaidJobResult {
  /** How the job ended. A node that returned no output also ends as `finished`, with 0 completion tokens. */
  end: "finished" | "enough" | "failed" | "quiet" | "no_capacity" | "cancelled";
  finish: FinishReason;
  text: string;
  reasoning: string;
  vectors: Float32Array[];
  promptTokens: number;
  completionTokens: number;
  /** The milliseconds from the offer to the first output. Null if there was no output. */
  ttftMs: number | null;
  tokensPerSecond: number | null;
}

/** Runs the job. Undefined if the node is not connected or does not serve the model. */
export async function runUnpaidJob(
  gw: Pick<RequestPathDependencies, "dispatcher" | "meter">,
  job: UnpaidJob,
  signal: CancelSignal,
): Promise<UnpaidJobResult | undefined> {
  const { model, texts, format, sampling = {} } = job;
  const meter = gw.meter(model.build.tokenizer);
  const [prompt, body] = promptOf(job);
  const { tokens: promptTokens } = await meter.countPrompt(prompt, model.contextLimit);
  const cap = model.kind === "embedding" ? 0 : job.outputTokensMax;
  const outputTokensMax = computeOutputTokensLeft(model, { cap, promptTokens });
  const vectorsDue = model.kind === "embedding" ? texts.length : 0;
  const endpoint: Endpoint = model.kind === "embedding" ? "embedding" : (job.endpoint ?? "chat");
  const relay = new Relay({ model, endpoint, meter, outputTokensMax, vectorsDue, stop: sampling.stop, stream: null });
  const header = {
    model: model.id,
    endpoint,
    stream: job.stream ?? true,
    output_tokens_max: outputTokensMax,
    sampling: toNodeSamplingOptions(model, sampling),
  };
  const result = await gw.dispatcher.runOn(
    job.nodeId,
    { request: publicIdSuffix(job.id), header, body, formatted: format !== undefined },
    relay,
    signal,
  );
  if (result === undefined) return undefined;
  const counts = relay.end();
  const completionTokens = counts.answerTokens + counts.reasoningTokens;
  const end = plainEnd(result.end);
  if (end === "finished" || end === "enough") {
    gw.dispatcher.measured(model.id, result, { prompt: promptTokens, output: completionTokens });
  }
  const outputMs = result.pace?.outputMs ?? 0;
  return {
    end,
    finish: relay.cut ?? result.finish ?? "stop",
    text: relay.text,
    reasoning: relay.reasoning,
    vectors: relay.embeddings,
    promptTokens,
    completionTokens,
    ttftMs: result.pace?.ttftMs ?? null,
    tokensPerSecond: completionTokens > 1 && outputMs > 0 ? ((completionTokens - 1) * 1000) / outputMs : null,
  };
}

/**
 * Converts the dispatcher's result to that of an unpaid job, which has fewer outcomes. An empty answer counts as
 * finished, because only one node is asked and nothing is charged, so there is no second opinion. The kinds of failure
 * are not distinguished, because failures are recorded elsewhere.
 */
function plainEnd(end: DispatchResult["end"]): UnpaidJobResult["end"] {
  if (end === "empty" || end === "unconfirmed") return "finished";
  // The dispatch plane lost the job, which says nothing about the node.
  if (end === "cut") return "cancelled";
  return end === "broken" || end === "unbuilt" ? "failed" : end;
}

function promptOf({ model, endpoint, messages, texts, format }: UnpaidJob): [Prompt, JobBody] {
  if (model.kind === "embedding") return [{ kind: "texts", texts }, { input: texts }];
  if (endpoint === "completion") {
    const text = messages.map(({ content }) => content).join("\n");
    return [
      { kind: "text", text },
      { prompt: text, ...(format && { format }) },
    ];
  }
  return [
    { kind: "chat", messages },
    { messages, ...(format && { format }) },
  ];
}
