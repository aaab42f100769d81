/**
 * Which servers of the cluster answer. All are asked together, again and again, and each answers for itself; one that hangs is
 * known by the questions it owes an answer to. Nodes on it look silent and are well. Pure.
 */

/** Questions without an answer after which a server hangs: the first was put a second ago. */
const OWED_MAX = 3;
/** And after which it is forgotten: its nodes have left it by then. */
const FORGOTTEN_AFTER = 40;
export const ASK_SERVERS_EVERY_MS = 500;

export class ServerPulse {
  /** By server: the questions since its last answer. */
  readonly #owed = new Map<string, number>();
  /** By server: which of all answers its last was. */
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

  /** This moment, for `answeredSince`. */
  mark(): number {
    return this.#answers;
  }

  /** Whether the server has answered since; without one, whether all did that are known. */
  answeredSince(server: string | undefined, mark: number): boolean {
    const asked = server === undefined ? [...this.#owed.keys()] : [server];
    return asked.length > 0 && asked.every((known) => (this.#lastAnswers.get(known) ?? 0) > mark);
  }

  /** Whether the server answers; without one, whether all do. A server that was never heard is not known to hang. */
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
