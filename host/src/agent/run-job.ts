/** Runs one job on the engine, from the accepted job to its `done` or `failed`. */
import type { JobBody, JobHeader } from "@tollgate/protocol/frames.ts";
import {
  type EmbeddingJob,
  type Engine,
  EngineError,
  type EngineJob,
  type GenerationJob,
  type OutputSink,
  type ScoringJob,
} from "../engines/engine.ts";
import { describeWithoutMessage, type Log } from "../log.ts";
import type { JobOutcome, JobRecord } from "./job-counters.ts";
import type { JobWriter } from "./job-writer.ts";

export function toEngineJob(header: JobHeader, body: JobBody): EngineJob {
  const attempt = Number(header.job.slice(header.job.lastIndexOf("-") + 1));
  const common = { id: header.job, attempt, model: header.model };
  if ("input" in body) return { ...common, endpoint: "embedding", input: body.input };
  const { format, score, ...input } = body;
  return {
    ...common,
    endpoint: "messages" in body ? "chat" : "completion",
    input,
    ...(format === undefined ? {} : { format }),
    ...(score === undefined ? {} : { score }),
    sampling: header.sampling,
    outputTokensMax: header.output_tokens_max,
    ...(header.stream ? {} : { gathers: true }),
  };
}

interface JobRun {
  engine: Engine;
  job: EngineJob;
  writer: JobWriter;
  record: JobRecord;
  signal: AbortSignal;
  log: Log;
}

export async function runJob(run: JobRun): Promise<JobOutcome> {
  const { job, writer, signal } = run;
  try {
    if (job.endpoint === "embedding") await embed(run, job);
    else if (isScoring(job)) await score(run, job);
    else await generate(run, job);
  } catch (error) {
    if (signal.aborted) return "cancelled";
    const failure = failureOf(error);
    run.log.warn({ ...failure, ...(failure.cause === "agent" ? describeWithoutMessage(error) : {}) }, "job failed");
    writer.failed(failure.cause, failure.message);
    return "failed";
  }
  return signal.aborted ? "cancelled" : "done";
}

async function generate({ engine, writer, record, signal }: JobRun, job: GenerationJob): Promise<void> {
  const sink: OutputSink = {
    delta(channel, text) {
      record.said(text.length);
      writer.delta(channel, text);
    },
    progress: progressOf(writer, record),
  };
  const { finish } = await engine.generate(job, sink, signal);
  if (!signal.aborted) writer.done(finish);
}

const isScoring = (job: EngineJob): job is ScoringJob => job.endpoint !== "embedding" && job.score !== undefined;

async function score({ engine, writer, record, signal }: JobRun, job: ScoringJob): Promise<void> {
  const logprobs = await engine.score?.(job, { progress: progressOf(writer, record) }, signal);
  if (signal.aborted) return;
  if (logprobs === undefined)
    throw new EngineError("engine", "the engine cannot return the token probabilities of a given answer");
  writer.scored(logprobs);
  writer.done("stop");
}

async function embed({ engine, writer, record, signal }: JobRun, job: EmbeddingJob): Promise<void> {
  let count = 0;
  for await (const vector of engine.embed(job, { progress: progressOf(writer, record) }, signal)) {
    if (signal.aborted) return;
    writer.vector(vector);
    record.gaveVector();
    count++;
  }
  if (signal.aborted) return;
  if (count !== job.input.length)
    throw new EngineError("engine", `the engine returned ${count} vectors for ${job.input.length} inputs`);
  writer.done("stop");
}

const progressOf = (writer: JobWriter, record: JobRecord) => (fraction: number) => {
  record.read(fraction);
  writer.progress(fraction);
};

/**
 * The cause and message that the gateway gets. Only messages of the engine port are passed on: other errors are the
 * agent's own and may quote a prompt.
 */
function failureOf(error: unknown): { cause: "engine" | "prompt" | "agent"; message: string } {
  if (error instanceof EngineError) return { cause: error.blame, message: error.message };
  return { cause: "agent", message: "internal error in the agent; its log has the details" };
}
