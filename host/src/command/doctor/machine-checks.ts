/** Whether this machine has room: memory for the elected models, disk for the rest. */
import { bytesNeeded } from "../../engines/model-requirements.ts";
import { findHardware, modelMemoryBytes } from "../machine/hardware.ts";
import type { Machine } from "../machine/machine.ts";
import { gibibytes } from "../terminal/format.ts";
import { type Check, ok, warn } from "./check.ts";

const GIB = 1024 ** 3;
const FREE_MEMORY_LOW = 0.5 * GIB;
const FREE_DISK_LOW = 1 * GIB;

/** `models`: those that an engine on this machine has to hold. */
export async function memoryCheck(machine: Machine, models: readonly string[]): Promise<Check> {
  const hardware = await findHardware(machine);
  const total = modelMemoryBytes(hardware);
  const [gpu] = hardware.gpus;
  const where = gpu === undefined ? "no graphics processor" : gpu.name;
  const detail = `${gibibytes(total)} for models (${where}), ${gibibytes(machine.freeMemoryBytes())} of memory free`;
  const large = models.filter((model) => (bytesNeeded(model) ?? 0) > total);
  if (large.length > 0)
    return warn("memory", `${detail}; too little for ${large.join(", ")}`, "elect smaller models: tollgate-host elect");
  if (machine.freeMemoryBytes() < FREE_MEMORY_LOW)
    return warn("memory", detail, "close other programs: an engine that swaps is too slow to serve");
  return ok("memory", detail);
}

export async function diskCheck(machine: Machine): Promise<Check> {
  const free = await machine.freeDiskBytes(machine.home);
  const detail = `${gibibytes(free)} free`;
  return free < FREE_DISK_LOW
    ? warn("disk", detail, "make room: engines and the system need some to run")
    : ok("disk", detail);
}
