/**
 * Samples a target's processes over their inspector ports and stores the profiles beside the results. Each profile gets
 * a table of processor time: by function alone, and by function of the project including the calls of other code.
 * Shares are of the time at work.
 *
 * `node bench/gateway/cpu-profile.ts FILE.cpuprofile` prints the table of a profile.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Target } from "./targets/target.ts";

const SAMPLE_EVERY_US = 250;

/** The result of `Profiler.stop`, which is also the file format that browsers and editors open. */
interface CpuProfile {
  nodes: {
    id: number;
    callFrame: { functionName: string; url: string; lineNumber: number };
    children?: number[];
  }[];
  samples: number[];
  timeDeltas: number[];
}

/** Starts and stops the sampling of a Node process over its inspector port. */
class Inspector {
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

/**
 * Runs the work and samples it. Without `--profile` there are no inspector ports, so the work runs without sampling.
 */
export async function withProfile<T>(
  target: Target,
  { outDir, name }: { outDir: string; name: string },
  run: () => Promise<T>,
): Promise<T> {
  const open = await Promise.all(
    Object.entries(target.inspectors).map(async ([role, port]) => ({ role, inspector: await Inspector.connect(port) })),
  );
  for (const { inspector } of open) await inspector.startSampling();
  const result = await run();
  for (const { role, inspector } of open) {
    const profile = await inspector.stopSampling();
    const file = join(outDir, `${name}-${role}`);
    writeFileSync(`${file}.cpuprofile`, JSON.stringify(profile));
    writeFileSync(`${file}.top.txt`, topTable(profile));
  }
  return result;
}

const ROWS = 40;
const RESTING = new Set(["(idle)", "(root)"]);
/** V8's name for native code called from no JavaScript function, mostly system calls of the event loop. */
const PROGRAM = "(program)";

type Node = CpuProfile["nodes"][number];

function topTable(profile: CpuProfile): string {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)),
  );
  const alone = new Map<string, number>();
  const owned = new Map<string, number>();
  let workUs = 0;
  for (const [i, id] of profile.samples.entries()) {
    const node = nodes.get(id);
    if (node === undefined || RESTING.has(node.callFrame.functionName)) continue;
    const us = profile.timeDeltas[i] ?? 0;
    workUs += us;
    add(alone, nameOf(node), us);
    add(owned, ownerOf(node, parents), us);
  }
  const part = (title: string, shares: Map<string, number>): string => `${title}\n${table(shares, workUs)}\n`;
  return [
    `at work ${(workUs / 1000).toFixed(0)} ms\n`,
    part("By function:", alone),
    part("By function of ours, with what it calls elsewhere:", owned),
  ].join("\n");
}

/** Returns the project's function closest to `node` on the call stack, or else the outermost named function. */
function ownerOf(node: Node, parents: Map<number, Node>): string {
  let outermost = node;
  for (let at: Node | undefined = node; at !== undefined; at = parents.get(at.id)) {
    if (isOurs(at.callFrame.url)) return nameOf(at);
    if (at.callFrame.url !== "") outermost = at;
  }
  return nameOf(outermost);
}

const isOurs = (url: string): boolean => /\/(gateway|protocol|host)\/src\//.test(url);

function nameOf({ callFrame: { functionName, url, lineNumber } }: Node): string {
  if (functionName === PROGRAM) return PROGRAM;
  const file = url.replace(/^file:\/\//, "").replace(/^.*\/(node_modules|gateway|protocol|host)\//, "$1/");
  return `${functionName || "(anonymous)"}  ${file === "" ? "native" : `${file}:${lineNumber + 1}`}`;
}

function table(shares: Map<string, number>, allUs: number): string {
  const rows = [...shares].sort(([, a], [, b]) => b - a).slice(0, ROWS);
  return rows.map(([name, us]) => `${((100 * us) / allUs).toFixed(2).padStart(6)} %  ${name}`).join("\n");
}

function add(sums: Map<string, number>, name: string, us: number): void {
  sums.set(name, (sums.get(name) ?? 0) + us);
}

if (import.meta.main) {
  for (const file of process.argv.slice(2)) console.log(`${file}\n${topTable(JSON.parse(readFileSync(file, "utf8")))}`);
}
