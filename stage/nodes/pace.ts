/**
 * Pauses in real time for hand-made nodes, like the delays of an agent and its engine. No test depends on their length.
 */
export const pauseFor = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls `run` at this interval; returns a function that ends the repetition. */
export function repeatEvery(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  return () => clearInterval(timer);
}
