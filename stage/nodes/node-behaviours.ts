/**
 * Ways in which hand-made nodes (test code instead of an agent) answer jobs. A real node cannot tell probes from
 * requests. These can, because prompts under test contain `MARK`: all other jobs are answered honestly, so that a test
 * can check one rule at a time.
 */
import { makeUnitVector, normaliseVector } from "../../host/src/engines/generated-text-and-vectors.ts";
import { DELTA_TEXT_BYTES_MAX, DELTAS_PER_FRAME_MAX } from "../../protocol/src/frame-limits.ts";
import type { Behaviour, HandMadeJob } from "./hand-made-node.ts";
import { pauseFor } from "./real-time-pauses.ts";

/** The text in every prompt that the behaviour under test must answer. */
export const BEHAVIOUR_PROMPT_MARK = "[marked]";
export const HONEST_ANSWER = "an honest answer of a few words";
const VECTOR_WIDTH = 1024;
const WHITE_SPACE_BYTES = 6 * 1024 * 1024;
/**
 * The pause between empty outputs, short enough for several within the two seconds that a node may be silent. In
 * milliseconds.
 */
const EMPTY_EVERY_MS = 250;

/** Returns the output as an engine would generate it: cut before the first stop string and at the maximum length. */
function generated(job: HandMadeJob, text: string): string {
  const cuts = (job.header.sampling.stop ?? []).map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
  return text.slice(0, Math.min(text.length, ...cuts));
}

/** Gives the right answer to canaries (questions with known answers), and prose to everything else. */
export function answerHonestly(
  answer: (job: HandMadeJob) => string = () => HONEST_ANSWER,
  { delayMs = 0 } = {},
): Behaviour {
  return async (job) => {
    job.accept();
    if (delayMs > 0) await pauseFor(delayMs);
    if ("input" in job.body) for (const [i, text] of job.body.input.entries()) job.vectors(i, [meaningOf(text)]);
    else {
      const text = generated(job, job.known ?? answer(job));
      if (text !== "") job.deltas([text]);
    }
    job.done();
  };
}

/** Answers honestly, but ignores stop strings. */
export function ignoreStopStrings(text: string): Behaviour {
  return (job) => {
    job.accept();
    job.deltas([job.known ?? text]);
    job.done();
  };
}

/** Returns the vector of a text. Texts that share words get similar vectors. */
function meaningOf(text: string): Float32Array {
  const sum = new Float32Array(VECTOR_WIDTH);
  for (const word of text.toLowerCase().match(/\w+/g) ?? ["nothing"]) {
    for (const [i, value] of makeUnitVector(word, VECTOR_WIDTH).entries()) sum[i] = (sum[i] as number) + value;
  }
  return normaliseVector(sum);
}

export function applyToMarkedPrompts(behaviour: Behaviour): Behaviour {
  const otherwise = answerHonestly();
  return (job) => (job.prompt.includes(BEHAVIOUR_PROMPT_MARK) ? behaviour(job) : otherwise(job));
}

/** Accepts the job and immediately reports that it is done, without output. */
export const finishWithoutOutput: Behaviour = (job) => {
  job.accept();
  job.done();
};

/** Answers everything with one constant that passes every published canary (question with a known answer). */
export const giveConstantAnswer: Behaviour = (job) => {
  job.accept();
  if ("input" in job.body)
    job.vectors(
      0,
      job.body.input.map(() => makeUnitVector("constant", VECTOR_WIDTH)),
    );
  else job.deltas(["12 Paris lighthouse"]);
  job.done();
};

/** Sends empty output repeatedly, for as long as the gateway allows. */
export const sendEmptyDeltas: Behaviour = async (job) => {
  job.accept();
  while (!job.cancelled.aborted) {
    job.deltas([""]);
    await pauseFor(EMPTY_EVERY_MS);
  }
};

/** Sends six mebibytes of spaces and then single spaces, all in one frame. */
export const sendWhiteSpace =
  (opening: string): Behaviour =>
  (job) => {
    job.accept();
    if (opening !== "") job.deltas([opening]);
    const block = " ".repeat(DELTA_TEXT_BYTES_MAX);
    for (let said = 0; said < WHITE_SPACE_BYTES; said += block.length) job.deltas([block]);
    job.deltas(Array.from({ length: DELTAS_PER_FRAME_MAX }, () => " "));
    job.done();
  };

/** Sends far more output than the job asks for. */
export const sendTooMuchOutput: Behaviour = (job) => {
  job.accept();
  for (let i = 0; i < 100; i++) job.deltas(Array.from({ length: 100 }, () => " word"));
  job.done();
};

export const refusePrompt: Behaviour = (job) => {
  job.accept();
  job.failed("prompt", "the prompt is too long for the context");
};

/** Ways to break the protocol after some output, by name. */
export const PROTOCOL_VIOLATIONS: Record<string, Behaviour> = {
  "a gap in its numbers": (job) => {
    job.accept();
    job.deltas(["some words"]);
    job.seq += 3;
    job.deltas([" and more"]);
  },
  "a number twice": (job) => {
    job.accept();
    job.deltas(["some words"]);
    job.seq -= 1;
    job.deltas([" and more"]);
  },
  "a frame of garbage": (job) => {
    job.accept();
    job.deltas(["some words"]);
    job.raw(Buffer.concat([Buffer.of(1, 19, 1, 0), Buffer.from(job.header.job), Buffer.alloc(300, 0xee)]));
  },
  "vectors where words are due": (job) => {
    job.accept();
    job.deltas(["some words"]);
    job.vectors(0, [makeUnitVector("x", VECTOR_WIDTH)]);
  },
  "acceptance twice": (job) => {
    job.accept();
    job.deltas(["some words"]);
    // Not `job.accept()`, which does nothing for a job that was accepted before its body arrived.
    job.say({ kind: "accepted", job: job.header.job });
  },
};

/** Wrong vectors for an embedding job, by the name of the mistake. */
export const WRONG_VECTORS: Record<string, Behaviour> = {
  "of another width": (job) => {
    job.accept();
    job.vectors(0, [makeUnitVector("x", 16)]);
    job.done();
  },
  "of no number": (job) => {
    job.accept();
    job.vectors(0, [new Float32Array(VECTOR_WIDTH).fill(Number.NaN)]);
    job.done();
  },
  "too many": (job) => {
    job.accept();
    job.vectors(0, [makeUnitVector("x", VECTOR_WIDTH), makeUnitVector("y", VECTOR_WIDTH)]);
    job.done();
  },
  "too few": (job) => {
    job.accept();
    job.done();
  },
};
