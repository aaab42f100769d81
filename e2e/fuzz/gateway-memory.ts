/**
 * Measures memory that the gateway cannot free. Node's inspector makes the gateway collect garbage twice, with turns of
 * the event loop in between. Then the resident memory and the sizes of live objects and buffers are read.
 */

/** The NODE_OPTIONS that open the inspector on a free port. */
export const INSPECTOR_OPTION = "--inspect=127.0.0.1:0";

export interface MemoryUse {
  residentMb: number;
  /** The size of the JavaScript heap. */
  heapMb: number;
  /** The size of buffers and other memory outside the heap. */
  externalMb: number;
}

export class MemoryProbe {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #calls = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id: number; result: unknown };
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    });
  }

  /** Connects to the inspector. `output` is what the gateway printed when it started. */
  static async open(output: string): Promise<MemoryProbe> {
    const url = /^Debugger listening on (ws:\S+)$/m.exec(output)?.[1];
    if (url === undefined) throw new Error(`the gateway is not inspected:\n${output}`);
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", () => reject(new Error(`the gateway's inspector at ${url} does not answer`)));
    });
    return new MemoryProbe(socket);
  }

  async settled(): Promise<MemoryUse> {
    await this.#call("HeapProfiler.collectGarbage");
    // A second collection frees objects that finalizers of the first one released.
    await this.#call("Runtime.evaluate", {
      expression: "new Promise((resolve) => setImmediate(resolve))",
      awaitPromise: true,
    });
    await this.#call("HeapProfiler.collectGarbage");
    return await this.now();
  }

  async now(): Promise<MemoryUse> {
    const { rss, heapUsed, external } = await this.evaluate<NodeJS.MemoryUsage>("process.memoryUsage()");
    const mb = (bytes: number): number => Math.round(bytes / 2 ** 20);
    return { residentMb: mb(rss), heapMb: mb(heapUsed), externalMb: mb(external) };
  }

  /** Evaluates an expression in the gateway and returns its value through JSON. */
  async evaluate<T>(expression: string): Promise<T> {
    const params = { expression: `JSON.stringify(${expression})` };
    const { result } = (await this.#call("Runtime.evaluate", params)) as { result: { value?: string } };
    if (result.value === undefined) throw new Error(`the gateway cannot say what ${expression} is`);
    return JSON.parse(result.value) as T;
  }

  close(): void {
    this.#socket.close();
  }

  #call(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#calls;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }
}

export const formatMemory = ({ residentMb, heapMb, externalMb }: MemoryUse): string =>
  `${residentMb} MB resident, ${heapMb} MB of objects, ${externalMb} MB of buffers`;
