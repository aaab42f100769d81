/**
 * Makes the sequences of a context sample one after the other. llama.cpp reorders a batch's logits when they are first
 * read, and the library reads them on several threads. Without turns, concurrent answers get each other's tokens.
 */
import type { LlamaContext } from "node-llama-cpp";

type Sample = (...args: unknown[]) => Promise<unknown>;

/**
 * Makes the context sample for one sequence at a time. This replaces internals of the library, so the version of the
 * library is pinned. Throws if the internals differ from what is expected.
 */
export function makeSamplingSequential(context: LlamaContext): void {
  const { _ctx: inner } = context as unknown as { _ctx?: { sampleToken?: Sample } };
  if (typeof inner?.sampleToken !== "function") {
    throw new Error(
      "this version of node-llama-cpp lacks sampleToken(), so concurrent answers could be mixed up: reinstall it",
    );
  }
  const sample = inner.sampleToken.bind(inner);
  let last: Promise<unknown> = Promise.resolve();
  const inTurn: Sample = (...args) => {
    const turn = last.then(() => sample(...args));
    // A failure only concerns its own sequence, so the next one continues.
    last = turn.catch(() => undefined);
    return turn;
  };
  Object.defineProperty(inner, "sampleToken", { value: inTurn });
}
