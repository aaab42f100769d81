/** Starts and stops the sampling of a Node process, over its inspector's port. */
const SAMPLE_EVERY_US = 250;

/** What `Profiler.stop` gives, and the files that browsers and editors open. */
export interface CpuProfile {
  nodes: {
    id: number;
    callFrame: { functionName: string; url: string; lineNumber: number };
    children?: number[];
  }[];
  samples: number[];
  timeDeltas: number[];
}

export class Inspector {
  readonly #socket: WebSocket;
  readonly #asked = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  #lastId = 0;

  static async connect(port: number): Promise<Inspector> {
    const response = await fetch(`http://127.0.0.1:${port}/json/list`);
    const [page] = (await response.json()) as { webSocketDebuggerUrl: string }[];
    if (page === undefined) throw new Error(`nothing can be inspected on port ${port}`);
    const socket = new WebSocket(page.webSocketDebuggerUrl);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", () => reject(new Error(`no inspector on port ${port}`)), { once: true });
    });
    return new Inspector(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result, error } = JSON.parse(String(data));
      const asked = this.#asked.get(id);
      this.#asked.delete(id);
      if (error === undefined) asked?.resolve(result);
      else asked?.reject(new Error(error.message));
    });
  }

  async startSampling(): Promise<void> {
    await this.#ask("Profiler.enable");
    await this.#ask("Profiler.setSamplingInterval", { interval: SAMPLE_EVERY_US });
    await this.#ask("Profiler.start");
  }

  async stopSampling(): Promise<CpuProfile> {
    const { profile } = (await this.#ask("Profiler.stop")) as { profile: CpuProfile };
    this.#socket.close();
    return profile;
  }

  #ask(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }
}
