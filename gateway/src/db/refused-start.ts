/** Recognises a pooler's refusal of startup options. */
export const isRefusedStart = (error: unknown): boolean =>
  error instanceof Error && /unsupported .*startup parameter/.test(error.message);
