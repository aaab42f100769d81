/** The two expected errors of a command. Any other error comes from the system or is a bug. */

/** The command line is wrong: each mistake names its flag and rule. Exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
  readonly mistakes: string[];
  /** The command that was meant, as far as it could be recognised. */
  command: string | undefined;
  constructor(mistakes: string | string[]) {
    const all = [mistakes].flat();
    super(all.join("; "));
    this.mistakes = all;
  }
}

/**
 * A problem outside the command prevents it. The message is one line, and so is each of the details, which say where
 * the command looked or what it tried; `next` says what to do. Exit code 1.
 */
export class CommandError extends Error {
  override name = "CommandError";
  readonly details: readonly string[];
  readonly next: string | undefined;
  constructor(message: string, options: { details?: readonly string[]; next?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.details = options.details ?? [];
    this.next = options.next;
  }
}
