/** Assertions that find bugs. For users' mistakes the gateway throws faults instead. */
export class InvariantError extends Error {
  override name = "InvariantError";
}

export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}
