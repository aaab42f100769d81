/**
 * A pool of objects that callers take and return. If none is free, a caller waits. This happens when checks run
 * alongside the agent's jobs.
 */
export class ObjectPool<Thing> {
  readonly #free: Thing[];
  readonly #waiting: ((thing: Thing) => void)[] = [];

  constructor(things: readonly Thing[]) {
    this.#free = [...things];
  }

  take(): Promise<Thing> {
    const thing = this.#free.pop();
    if (thing !== undefined) return Promise.resolve(thing);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  put(thing: Thing): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(thing);
    else next(thing);
  }
}
