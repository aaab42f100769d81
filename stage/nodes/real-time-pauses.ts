/**
 * Pauses in real time for hand-made nodes (test code instead of an agent), which delay their answers like an agent and
 * its engine. No test depends on the length of a pause.
 */
export const pauseFor = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls `run` at this interval; returns a function that ends the repetition. */
export function repeatEvery(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  return () => clearInterval(timer);
}
