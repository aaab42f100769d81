/** How a node made by hand paces itself in real time, as an agent and its engine do. No test judges by these times. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs it again and again; returns what stops that. */
export function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  return () => clearInterval(timer);
}
