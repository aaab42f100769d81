/** The result of checking one behavior with one engine. */
export type CheckOutcome = { verdict: "ok"; detail?: string } | { verdict: "no" | "FAILED"; reason: string };

export const okOutcome = (detail?: string): CheckOutcome =>
  detail === undefined ? { verdict: "ok" } : { verdict: "ok", detail };
export const unsupportedOutcome = (reason: string): CheckOutcome => ({ verdict: "no", reason });
export const failedOutcome = (reason: string): CheckOutcome => ({ verdict: "FAILED", reason });

/** An engine's behavior differs from the documented one. Any other thrown error counts as a failure too. */
export class BehaviorMismatch extends Error {
  override name = "NotAsPromised";
}

export function expectTrue(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new BehaviorMismatch(otherwise);
}

export function expectSame<T>(what: string, found: T, promised: T): void {
  const [is, should] = [JSON.stringify(found), JSON.stringify(promised)];
  expectTrue(is === should, `${what}: ${is}, not ${should}`);
}

const REASON_LENGTH_MAX = 240;

export function toFailedOutcome(error: unknown): CheckOutcome {
  const text = error instanceof Error ? error.message : String(error);
  return failedOutcome(text.replaceAll(/\s+/g, " ").trim().slice(0, REASON_LENGTH_MAX));
}
