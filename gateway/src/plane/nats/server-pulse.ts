/**
 * Which servers of the cluster answer. All are pinged together at intervals, and a server that leaves pings unanswered hangs. Its nodes
 * look silent but may be well. Pure.
 */

/** Unanswered pings after which a server counts as hanging; the first was sent a second ago. */
const OWED_MAX = 3;
/** Unanswered pings after which it is forgotten, because its nodes have left by then. */
const FORGOTTEN_AFTER = 40;
export const ASK_SERVERS_EVERY_MS = 500;

export class ServerPulse {
  /** By server: the pings since its last answer. */
  readonly #owed = new Map<string, number>();
  /** By server: the last ping that it answered. */
  readonly #lastAnswers = new Map<string, number>();
  #pings = 0;

  /** Returns the number of the ping, which its answers name. */
  asked(): number {
    for (const [server, owed] of this.#owed) {
      if (owed < FORGOTTEN_AFTER) this.#owed.set(server, owed + 1);
      else this.#forget(server);
    }
    return this.newPing();
  }

  answered(server: string, ping: number): void {
    this.#owed.set(server, 0);
    this.#lastAnswers.set(server, Math.max(this.#lastAnswers.get(server) ?? 0, ping));
  }

  /** A ping that no server owes an answer to. */
  newPing(): number {
    return ++this.#pings;
  }

  /**
   * Whether the server has answered this ping or a later one; without a server, whether all known ones have. An answer to an earlier ping may
   * have been on its way when the server froze.
   */
  answeredSince(server: string | undefined, ping: number): boolean {
    const asked = server === undefined ? [...this.#owed.keys()] : [server];
    return asked.length > 0 && asked.every((known) => (this.#lastAnswers.get(known) ?? 0) >= ping);
  }

  /** Whether the server answers; without a server, whether all do. An unknown server counts as answering. */
  answers(server: string | undefined): boolean {
    const owed = server === undefined ? [...this.#owed.values()] : [this.#owed.get(server) ?? 0];
    return owed.every((questions) => questions < OWED_MAX);
  }

  clear(): void {
    this.#owed.clear();
    this.#lastAnswers.clear();
  }

  #forget(server: string): void {
    this.#owed.delete(server);
    this.#lastAnswers.delete(server);
  }
}
