/**
 * Measures the cost of starting a platform, of running a command, and of an idle gateway.
 *
 * node bench/start/run.ts [--starts N] [--rest-s S]
 *
 * Measures from outside, with a data directory of its own: processor time by process until the platform is ready,
 * memory, and how often the idle gateway's threads wake. Linux only: figures come from /proc.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gatewayCommand } from "../gateway/gateway-command.ts";
import { type CpuTimeReading, readCpuTime, readResidentMemoryMib } from "../gateway/process-resource-usage.ts";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const TOLLGATE = join(CHECKOUT, "gateway/bin/tollgate.mjs");
const GATEWAY = gatewayCommand(CHECKOUT);
const LOOK_EVERY_MS = 5;
const WAKES_OVER_S = 20;
const NONE: CpuTimeReading = { ticksUs: 0, exactUs: 0 };

const { values } = parseArgs({ options: { starts: { type: "string" }, "rest-s": { type: "string" } } });
const starts = Number(values.starts ?? 3);
const restS = Number(values["rest-s"] ?? 30);

interface Pids {
  gateway: number;
  postgres: number;
  nodes: number[];
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const secondsOf = (count: CpuTimeReading): string => (Math.max(count.ticksUs, count.exactUs) / 1e6).toFixed(2);

/** Starts a platform, measures it once it is ready, calls `meanwhile`, and stops it. */
async function start(what: string, data: string, meanwhile: (pids: Pids) => Promise<void> = async () => {}) {
  const ready = join(data, "ready.json");
  rmSync(ready, { force: true });
  const began = performance.now();
  const args = ["dev", "--port", "0", "--data", data, "--ready-file", ready, "--engine", "scripted"];
  const [program = "", ...before] = GATEWAY.command;
  const child = spawn(program, [...before, ...args], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, ...GATEWAY.env, INTERNAL_PORT: "0" },
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let pids: Pids | undefined;
  while (pids === undefined) {
    if (child.exitCode !== null) throw new Error(`the platform ended with ${child.exitCode} before it was ready`);
    await sleep(LOOK_EVERY_MS);
    pids = readReady(ready);
  }
  const wallS = (performance.now() - began) / 1000;
  const { gateway, postgres, nodes } = pids;
  const agent = nodes[0] === undefined ? NONE : readCpuTime({ pid: nodes[0], withChildren: true });
  const row = [
    what,
    wallS.toFixed(1),
    secondsOf(readCpuTime({ pid: gateway, withChildren: false })),
    secondsOf(agent),
    secondsOf(readCpuTime({ pid: postgres, withChildren: true })),
    readResidentMemoryMib({ pid: gateway, withChildren: false }).toFixed(0),
  ];
  console.log(`| ${row.join(" | ")} |`);
  await meanwhile(pids);
  child.kill("SIGINT");
  await ended;
}

function readReady(file: string): Pids | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")).pids;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Returns how often the process's threads have gone to sleep voluntarily since they started. */
function sleepsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const sleeps = threads.map((thread) => {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8");
    return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1]);
  });
  return sleeps.reduce((sum, one) => sum + one, 0);
}

async function rest({ gateway }: Pids): Promise<void> {
  await sleep(restS * 1000);
  const [before, cpu] = [sleepsOf(gateway), readCpuTime({ pid: gateway, withChildren: false })];
  await sleep(WAKES_OVER_S * 1000);
  const spentUs = readCpuTime({ pid: gateway, withChildren: false }).exactUs - cpu.exactUs;
  const wakes = (sleepsOf(gateway) - before) / WAKES_OVER_S;
  const memory = readResidentMemoryMib({ pid: gateway, withChildren: false });
  console.log(`\nThe gateway ${restS} s after: ${memory.toFixed(0)} MiB, woken ${wakes.toFixed(1)} times a second,`);
  console.log(`${(spentUs / WAKES_OVER_S / 1000).toFixed(1)} ms of processor time a second.`);
}

/** Runs a command in a shell, which reports the processor time of its child processes. */
function command(data: string, ...args: string[]): void {
  const where = args.includes("admin") && !args.includes("--help") ? ["--data", data] : [];
  const timed = ["-c", 'TIMEFORMAT="%R %U %S"; time "$@"', "bash", process.execPath, TOLLGATE, ...args, ...where];
  const { status, stderr } = spawnSync("bash", timed, { encoding: "utf8" });
  if (status !== 0) throw new Error(`tollgate ${args.join(" ")} ended with ${status}: ${stderr}`);
  const [wallS = 0, userS = 0, systemS = 0] = (stderr.trim().split("\n").at(-1) ?? "").split(" ").map(Number);
  console.log(`| ${args.join(" ")} | ${wallS.toFixed(2)} | ${(userS + systemS).toFixed(2)} |`);
}

const data = mkdtempSync(join(tmpdir(), "tollgate-bench-start-"));
// If the bench runs as root, the database runs as another user, who needs permission to enter the directory.
await chmod(data, 0o711);
try {
  console.log("| Start | ready, s | gateway, s of processor time | agent | PostgreSQL | gateway, MiB |");
  console.log("|---|---|---|---|---|---|");
  await start("first", data);
  for (let i = 1; i < starts; i++) await start("next", data);
  await start("next", data, async (pids) => {
    await rest(pids);
    console.log("\n| Command | s | s of processor time |");
    console.log("|---|---|---|");
    for (let i = 0; i < starts; i++) {
      command(data, "--version");
      command(data, "admin", "ledger", "check", "--help");
      command(data, "admin", "account", "list");
    }
  });
} finally {
  rmSync(data, { recursive: true, force: true });
}
