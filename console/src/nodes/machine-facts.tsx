/** The hardware and software of a node's machine, as its agent reported them. */

import type { Node } from "../api/types.ts";
import { formatWithDecimals } from "../locale.ts";
import { Fact, FactList } from "../ui/drawer.tsx";
import { Time } from "../ui/time.tsx";

const GIB = 1024 ** 3;

export function MachineFacts({ node: { hardware, agent, created_at } }: { node: Node }) {
  return (
    <FactList>
      {factsOf(hardware).map(([name, value]) => (
        <Fact key={name} name={name}>
          {value}
        </Fact>
      ))}
      <Fact name="Agent">{agent === "" ? "–" : agent}</Fact>
      <Fact name="Registered">
        <Time at={created_at} as="full" />
      </Fact>
    </FactList>
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
