/** The two errors that commands expect. Any other error comes from the operating system or is a bug. */

/** The command line is wrong. Each mistake names its flag and the rule. Exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
  readonly mistakes: string[];
  /** The command that was called, as far as it could be recognized. */
  command: string | undefined;
  constructor(mistakes: string | string[]) {
    const all = [mistakes].flat();
    super(all.join("; "));
    this.mistakes = all;
  }
}

/**
 * The command line is right, but something else prevents the command. The message is one line. Each of the details is
 * one line about a place where the command looked or something it tried. `next` is the next step. Exit code 1.
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
