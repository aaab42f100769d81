/**
 * Functions with which tests wait for an outcome, never for a time to pass. The one limit below only ends a test that
 * hangs. It is far above the time that anything takes on a busy machine, so reaching it means that the outcome never
 * comes.
 */
export const HANG_LIMIT_MS = 300_000;

/** The pause between two checks in milliseconds. */
const POLL_MS = 20;

/**
 * Repeats `check` until it returns something other than undefined or false, for outcomes that cause no event. Returns
 * that value.
 */
export async function eventually<T>(what: string, check: () => T | Promise<T>): Promise<Exclude<T, undefined | false>> {
  const deadline = performance.now() + HANG_LIMIT_MS;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value as Exclude<T, undefined | false>;
    if (performance.now() > deadline) throw new Error(`still not so after ${HANG_LIMIT_MS / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Settles like `promise`, or rejects with the description after the hang limit. */
export async function failIfHung<T>(what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const hung = new Promise<never>((_, reject) => {
    const fail = (): void => reject(new Error(`did not happen within ${HANG_LIMIT_MS / 1000} s: ${what}`));
    timer = setTimeout(fail, HANG_LIMIT_MS);
  });
  try {
    return await Promise.race([promise, hung]);
  } finally {
    clearTimeout(timer);
  }
}

/** Aborts an operation that hangs: for `fetch`, `events.once` and everything else that accepts a signal. */
export const hangSignal = (): AbortSignal => AbortSignal.timeout(HANG_LIMIT_MS);
