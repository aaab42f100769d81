/** Recognizes the error with which a pooler refuses startup options. */
export const isStartupOptionsRefused = (error: unknown): boolean =>
  error instanceof Error && /unsupported .*startup parameter/.test(error.message);
