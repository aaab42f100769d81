/**
 * Tracks which servers of the cluster answer pings. All are pinged together at intervals. A server that does not answer
 * several pings in a row counts as hanging: its nodes look silent but may be healthy. Pure.
 */

/**
 * The number of unanswered pings after which a server counts as hanging. By then the first of them was sent a second
 * ago.
 */
const OWED_MAX = 3;
/** The number of unanswered pings after which a server is dropped. Its nodes have left by then. */
const FORGOTTEN_AFTER = 40;
export const PING_SERVERS_EVERY_MS = 500;

export class ServerPings {
  /** By server: the number of pings since its last answer. */
  readonly #owed = new Map<string, number>();
  /** By server: the number of the last ping that it answered. */
  readonly #lastAnswers = new Map<string, number>();
  #pings = 0;

  /** Counts a ping to all servers. Returns its number, which the answers contain. */
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

  /** Returns the number of an extra ping that no server is required to answer. */
  newPing(): number {
    return ++this.#pings;
  }

  /**
   * Whether the server has answered this ping or a later one. An answer to an earlier ping proves nothing, because the
   * server may have frozen after sending it. Without a server: whether all known ones have answered.
   */
  answeredSince(server: string | undefined, ping: number): boolean {
    const asked = server === undefined ? [...this.#owed.keys()] : [server];
    return asked.length > 0 && asked.every((known) => (this.#lastAnswers.get(known) ?? 0) >= ping);
  }

  /** Whether the server answers pings. Without a server: whether all do. An unknown server counts as answering. */
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
