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
  /** By server: the sequence number of its last answer. */
  readonly #lastAnswers = new Map<string, number>();
  #answers = 0;

  asked(): void {
    for (const [server, owed] of this.#owed) {
      if (owed < FORGOTTEN_AFTER) this.#owed.set(server, owed + 1);
      else this.#forget(server);
    }
  }

  answered(server: string): void {
    this.#owed.set(server, 0);
    this.#lastAnswers.set(server, ++this.#answers);
  }

  /** The current sequence number, for `answeredSince`. */
  mark(): number {
    return this.#answers;
  }

  /** Whether the server has answered since; without a server, whether all known ones have. */
  answeredSince(server: string | undefined, mark: number): boolean {
    const asked = server === undefined ? [...this.#owed.keys()] : [server];
    return asked.length > 0 && asked.every((known) => (this.#lastAnswers.get(known) ?? 0) > mark);
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
