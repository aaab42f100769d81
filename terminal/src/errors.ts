/** The two expected errors of a command. Anything else is a system error or a bug. */

/** Wrong use: mistakes that the command line alone shows, each naming its flag and rule. Exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
  readonly mistakes: string[];
  /** The command that was meant, as far as it was understood. */
  command: string | undefined;
  constructor(mistakes: string | string[]) {
    const all = [mistakes].flat();
    super(all.join("; "));
    this.mistakes = all;
  }
}

/**
 * Something outside the command stands in the way. The message is one line, and so is each of the details, which say where it was looked
 * or what was tried; `next` is what to do about it. Exit code 1.
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
