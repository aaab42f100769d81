/** The hardware and software of a node's machine, as its agent reported them. */

import type { Node } from "../api/answer-types.ts";
import { formatWithDecimals } from "../locale.ts";
import { Property, PropertyList } from "../ui/drawer.tsx";
import { TimeText } from "../ui/time-text.tsx";

const GIB = 1024 ** 3;

export function MachineDetails({ node: { hardware, agent, created_at } }: { node: Node }) {
  return (
    <PropertyList>
      {factsOf(hardware).map(([name, value]) => (
        <Property key={name} name={name}>
          {value}
        </Property>
      ))}
      <Property name="Agent">{agent === "" ? "–" : agent}</Property>
      <Property name="Registered">
        <TimeText at={created_at} as="full" />
      </Property>
    </PropertyList>
  );
}

/** Agents may report anything about their machine, so every value is checked. */
function factsOf(hardware: Record<string, unknown>): [name: string, value: string][] {
  const { cpu, cores, memory_bytes, gpus, engines, os, arch, ...more } = hardware;
  const list = (value: unknown, show: (item: unknown) => string): string =>
    Array.isArray(value) && value.length > 0 ? value.map(show).join(", ") : "none found";
  return [
    ...fact("Processor", [cpu, cores === undefined ? undefined : `${cores} cores`]),
    ...(typeof memory_bytes === "number" ? fact("Memory", [gibibytes(memory_bytes)]) : []),
    ...(gpus === undefined ? [] : fact("GPU", [list(gpus, gpuText)])),
    ...(engines === undefined ? [] : fact("Engines", [list(engines, String)])),
    ...fact("System", [os, arch]),
    ...Object.entries(more).flatMap(([name, value]) => fact(name, [value])),
  ];
}

function fact(name: string, parts: unknown[]): [string, string][] {
  const known = parts.filter((part) => part !== undefined && part !== null && part !== "");
  const text = known.map((part) => (typeof part === "object" ? JSON.stringify(part) : String(part))).join(", ");
  return text === "" ? [] : [[name, text]];
}

function gpuText(gpu: unknown): string {
  if (typeof gpu !== "object" || gpu === null) return String(gpu);
  const { name, memory_bytes } = gpu as { name?: unknown; memory_bytes?: unknown };
  const memory = typeof memory_bytes === "number" ? ` (${gibibytes(memory_bytes)})` : "";
  return `${String(name ?? "unknown")}${memory}`;
}

const gibibytes = (bytes: number): string => `${formatWithDecimals(bytes / GIB, 1)} GiB`;
