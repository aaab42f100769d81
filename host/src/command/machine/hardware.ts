/** Reads a machine's hardware: its description for the platform, the memory for models, and its GPUs. */

import { z } from "zod";
import type { FoundEngine } from "../../engines/detect-engines.ts";
import { parseJson } from "../../read-response-body.ts";
import { formatCounted, formatGibibytes } from "../format-values.ts";
import type { Machine } from "./machine.ts";

interface Gpu {
  maker: "nvidia" | "amd" | "apple";
  name: string;
  /** The GPU's own memory. Undefined if it shares the machine's memory. */
  memoryBytes: number | undefined;
  driver: string | undefined;
}

interface Hardware {
  os: string;
  arch: string;
  cpu: string;
  cores: number;
  memoryBytes: number;
  gpus: Gpu[];
}

export async function findHardware(machine: Machine): Promise<Hardware> {
  const { platform, arch, cpu, cores, memoryBytes } = machine;
  return { os: platform, arch, cpu, cores, memoryBytes, gpus: await findGpus(machine) };
}

/** The description in the node API's form. */
export function hardwareReport(hardware: Hardware, engines: readonly FoundEngine[] = []): Record<string, unknown> {
  const { memoryBytes, gpus, ...rest } = hardware;
  return {
    ...rest,
    memory_bytes: memoryBytes,
    gpus: gpus.map(({ maker, name, memoryBytes, driver }) => ({
      maker,
      name,
      memory_bytes: memoryBytes ?? null,
      driver: driver ?? null,
    })),
    engines: engines.map(({ name }) => name.replace(/ at .*$/, "")),
  };
}

/** macOS lets a GPU use about three quarters of the shared memory. */
const UNIFIED_SHARE = 0.75;

/**
 * The memory available to models. For graphics cards, the sum of their memory, because engines split models over cards.
 * For a GPU that shares the machine's memory, a part of that memory. Without a GPU, the machine's memory.
 */
export function computeMemoryForModelsBytes({ memoryBytes, gpus }: Hardware): number {
  if (gpus.length === 0) return memoryBytes;
  const own = gpus.reduce((sum, gpu) => sum + (gpu.memoryBytes ?? 0), 0);
  return own > 0 ? own : Math.floor(memoryBytes * UNIFIED_SHARE);
}

export function describeHardware(hardware: Hardware): [name: string, value: string][] {
  const { cpu, cores, memoryBytes, gpus } = hardware;
  const lines = gpus.map(({ name, memoryBytes }): [string, string] => [
    "gpu",
    memoryBytes === undefined ? `${name}, shares the machine's memory` : `${name}, ${formatGibibytes(memoryBytes)}`,
  ]);
  return [
    ["cpu", `${cpu}, ${formatCounted(cores, "core")}`],
    ["memory", formatGibibytes(memoryBytes)],
    ...(lines.length === 0 ? [["gpu", "no GPU found: models run on the CPU"] as [string, string]] : lines),
  ];
}

const MIB = 1024 ** 2;

/** Finds GPUs with the vendors' tools. If there are none, models run on the CPU. */
export async function findGpus(machine: Pick<Machine, "platform" | "run">): Promise<Gpu[]> {
  if (machine.platform === "darwin")
    return parseMetalGpus(await outputOf(machine, "system_profiler", ["SPDisplaysDataType", "-json"]));
  const [nvidia, amd] = await Promise.all([
    outputOf(machine, "nvidia-smi", ["--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits"]),
    outputOf(machine, "rocm-smi", ["--showproductname", "--showmeminfo", "vram", "--showdriverversion", "--json"]),
  ]);
  return [...parseNvidiaGpus(nvidia), ...parseAmdGpus(amd)];
}

/** Returns the tool's output. Empty if the tool is missing, fails or finds no device; then no GPU is usable. */
async function outputOf(machine: Pick<Machine, "run">, program: string, args: string[]): Promise<string> {
  const result = await machine.run(program, args);
  return result?.code === 0 ? result.output : "";
}

/** Parses lines like `NVIDIA H200, 143771, 580.159.04`; memory in MiB. */
export function parseNvidiaGpus(text: string): Gpu[] {
  return text.split("\n").flatMap((line): Gpu[] => {
    const fields = line.split(", ");
    const [driver, memory] = [fields.at(-1)?.trim(), Number(fields.at(-2))];
    const name = fields.slice(0, -2).join(", ").trim();
    if (name === "") return [];
    // Boards with shared memory report `[N/A]` as their memory.
    return [{ maker: "nvidia", name, memoryBytes: memory > 0 ? memory * MIB : undefined, driver }];
  });
}

const RocmCards = z.record(z.string(), z.record(z.string(), z.unknown()));

/** Parses rocm-smi's JSON: one object per card, whose keys differ in case between releases, and one for the system. */
export function parseAmdGpus(text: string): Gpu[] {
  // Warnings may precede the JSON text.
  const cards = RocmCards.safeParse(parseJson(text.slice(Math.max(0, text.indexOf("{")))));
  if (!cards.success) return [];
  const driver = fieldOf(cards.data.system ?? {}, "driver version");
  return Object.entries(cards.data).flatMap(([key, card]): Gpu[] => {
    if (!/^card\d+$/.test(key)) return [];
    const memory = Number(fieldOf(card, "vram total memory (b)"));
    const name = fieldOf(card, "card series") ?? fieldOf(card, "card model") ?? "AMD GPU";
    return [{ maker: "amd", name, memoryBytes: memory > 0 ? memory : undefined, driver }];
  });
}

function fieldOf(card: Record<string, unknown>, name: string): string | undefined {
  const found = Object.entries(card).find(([key, value]) => key.toLowerCase() === name && typeof value === "string");
  return found?.[1] as string | undefined;
}

const Displays = z.object({
  SPDisplaysDataType: z.array(
    z.object({ sppci_model: z.string().optional(), _name: z.string().optional(), sppci_cores: z.string().optional() }),
  ),
});

/** Finds Apple's own GPUs, which share the machine's memory. Engines do not use other GPUs in a Mac. */
export function parseMetalGpus(text: string): Gpu[] {
  const displays = Displays.safeParse(parseJson(text));
  if (!displays.success) return [];
  return displays.data.SPDisplaysDataType.flatMap(({ sppci_model, _name, sppci_cores }): Gpu[] => {
    const model = sppci_model ?? _name ?? "";
    if (!model.startsWith("Apple")) return [];
    const name = sppci_cores === undefined ? model : `${model} (${sppci_cores} cores)`;
    return [{ maker: "apple", name, memoryBytes: undefined, driver: undefined }];
  });
}
