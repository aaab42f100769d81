/** A pooler's refusal of what it does not know. */
export const isRefusedStart = (error: unknown): boolean =>
  error instanceof Error && /unsupported .*startup parameter/.test(error.message);
