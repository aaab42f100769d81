/** Things that are taken and put back. Who finds none waits: the agent never runs more jobs than there are, but checks come between. */
export class Pool<Thing> {
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
