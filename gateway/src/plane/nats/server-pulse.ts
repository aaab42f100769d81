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

  asked(): void {
    for (const [server, owed] of this.#owed) {
      if (owed < FORGOTTEN_AFTER) this.#owed.set(server, owed + 1);
      else this.#owed.delete(server);
    }
  }

  answered(server: string): void {
    this.#owed.set(server, 0);
  }

  /** Whether the server answers; without one, whether all do. A server that was never heard is not known to hang. */
  answers(server: string | undefined): boolean {
    const owed = server === undefined ? [...this.#owed.values()] : [this.#owed.get(server) ?? 0];
    return owed.every((questions) => questions < OWED_MAX);
  }

  clear(): void {
    this.#owed.clear();
  }
}
