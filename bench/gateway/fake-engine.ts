/** Starts the fake engine's process, sets its pace and reads its counts. */
import { fileURLToPath } from "node:url";
import { BenchProcess } from "./bench-process.ts";

const MAIN = fileURLToPath(new URL("./engine-process.ts", import.meta.url));

/** The only model that the engine serves. */
export const FAKE_MODEL = "fake-model";

export interface EnginePace {
  tokens: number;
  /** The pause between two events of a stream; 0: none. */
  delayMs: number;
  /** The number of events per write if there is no pause. */
  burst: number;
  /**
   * Sends the next event of every stream at the same moment, with one write per stream, like an engine that computes
   * all requests in one step.
   */
  inSteps?: boolean;
}

/** Counts since the pace was last changed. */
export interface EngineCounts {
  requests: number;
  live: number;
  events: number;
  aborted: number;
}

export class FakeEngine {
  readonly child: BenchProcess;
  port = 0;

  static async start(options: { processors: string | null; outDir: string }): Promise<FakeEngine> {
    const engine = new FakeEngine(options);
    engine.port = await engine.child.message((message) => {
      const { type, port } = message as { type: string; port: number };
      return type === "listening" ? port : undefined;
    });
    return engine;
  }

  private constructor(options: { processors: string | null; outDir: string }) {
    this.child = new BenchProcess({ name: "engine", command: [process.execPath, MAIN], channel: true, ...options });
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async set(pace: EnginePace): Promise<void> {
    await this.#ask({ type: "pace", pace });
  }

  counts(): Promise<EngineCounts> {
    return this.#ask({ type: "counts" });
  }

  #ask(question: { type: "pace"; pace: EnginePace } | { type: "counts" }): Promise<EngineCounts> {
    const answered = this.child.message((message) => {
      const { type, counts } = message as { type: string; counts: EngineCounts };
      return type === "counts" ? counts : undefined;
    });
    this.child.process.send(question);
    return answered;
  }
}
