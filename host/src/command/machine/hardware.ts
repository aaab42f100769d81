/** What a node tells the platform of its machine, and how much of its memory models can have. */
import type { FoundEngine } from "../../engines/detect.ts";
import { counted, gibibytes } from "../terminal/format.ts";
import { findGpus, type Gpu } from "./gpu.ts";
import type { Machine } from "./machine.ts";

export interface Hardware {
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

/** As the node API takes it. */
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

/** macOS lets the graphics processor have about three quarters of the memory it shares. */
const UNIFIED_SHARE = 0.75;

/**
 * What models can fill: the graphics memory where there is any, all cards together, since engines split models over them;
 * a part of the machine's where it is shared; else the machine's.
 */
export function modelMemoryBytes({ memoryBytes, gpus }: Hardware): number {
  if (gpus.length === 0) return memoryBytes;
  const own = gpus.reduce((sum, gpu) => sum + (gpu.memoryBytes ?? 0), 0);
  return own > 0 ? own : Math.floor(memoryBytes * UNIFIED_SHARE);
}

export function describeHardware(hardware: Hardware): [name: string, value: string][] {
  const { cpu, cores, memoryBytes, gpus } = hardware;
  const lines = gpus.map(({ name, memoryBytes }): [string, string] => [
    "gpu",
    memoryBytes === undefined ? `${name}, shares the machine's memory` : `${name}, ${gibibytes(memoryBytes)}`,
  ]);
  return [
    ["cpu", `${cpu}, ${counted(cores, "core")}`],
    ["memory", gibibytes(memoryBytes)],
    ...(lines.length === 0 ? [["gpu", "none found: models run on the processor"] as [string, string]] : lines),
  ];
}
