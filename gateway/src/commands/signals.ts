/** Waiting for the end: a signal from outside, or a fault that leaves no way to go on. */

export interface Stop {
  /** Resolves at the first SIGINT or SIGTERM, or with the error that made going on impossible. */
  asked: Promise<Error | undefined>;
  now(error?: Error): void;
}

/** A second signal does not wait: whoever sends it has seen the first and wants out. */
export function untilStopped(): Stop {
  let resolve: (error: Error | undefined) => void = () => {};
  const asked = new Promise<Error | undefined>((done) => {
    resolve = done;
  });
  let signals = 0;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      signals += 1;
      if (signals > 1) process.exit(130);
      resolve(undefined);
    });
  }
  return { asked, now: (error) => resolve(error) };
}
