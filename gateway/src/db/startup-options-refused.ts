/** Recognizes the error with which a pooler refuses startup options. */
export const isStartupOptionsRefusal = (error: unknown): boolean =>
  error instanceof Error && /unsupported .*startup parameter/.test(error.message);
