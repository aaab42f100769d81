/**
 * Sequences of one context sample one after another. llama.cpp puts the logits of a batch in order when they are first read,
 * and the library reads them on several threads at once: without turns, answers that run side by side get each other's words.
 */
import type { LlamaContext } from "node-llama-cpp";

type Sample = (...args: unknown[]) => Promise<unknown>;

/** Reaches into the library, whose version is pinned; one that looks otherwise inside is refused, not trusted. */
export function sampleInTurns(context: LlamaContext): void {
  const { _ctx: inner } = context as unknown as { _ctx?: { sampleToken?: Sample } };
  if (typeof inner?.sampleToken !== "function") {
    throw new Error("this version of node-llama-cpp samples in an unknown way; concurrent answers may be wrong");
  }
  const sample = inner.sampleToken.bind(inner);
  let last: Promise<unknown> = Promise.resolve();
  const inTurn: Sample = (...args) => {
    const turn = last.then(() => sample(...args));
    // A failure is its own sequence's; the next has its turn all the same.
    last = turn.catch(() => undefined);
    return turn;
  };
  Object.defineProperty(inner, "sampleToken", { value: inTurn });
}
