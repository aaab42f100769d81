/**
 * Formats the hardware that a node reported at registration. Another agent version may have reported it, so any field
 * may be missing or wrong.
 */

import { sanitiseForTerminal } from "@tollgate/terminal/terminal-text.ts";
import { z } from "zod";
import { formatCounted, formatGibibytes } from "../format-values.ts";

const Gpu = z.object({ name: z.string(), memory_bytes: z.number().positive().nullish() });
const Machine = z.object({
  cpu: z.string().optional().catch(undefined),
  cores: z.number().positive().optional().catch(undefined),
  memory_bytes: z.number().positive().optional().catch(undefined),
  gpus: z.array(Gpu).catch([]),
});

export function formatReportedHardware(
  hardware: Record<string, unknown> | null | undefined,
): [name: string, value: string][] {
  const { data } = Machine.safeParse(hardware);
  if (data === undefined) return [];
  const { cpu, cores, memory_bytes, gpus } = data;
  const processor = [
    ...(cpu === undefined ? [] : [sanitiseForTerminal(cpu)]),
    ...(cores === undefined ? [] : [formatCounted(cores, "core")]),
    ...(memory_bytes === undefined ? [] : [`${formatGibibytes(memory_bytes)} of memory`]),
  ].join(", ");
  return [
    ...(processor === "" ? [] : [["machine", processor] as [string, string]]),
    ...gpus.map(({ name, memory_bytes: own }): [string, string] => [
      "gpu",
      own == null
        ? `${sanitiseForTerminal(name)}, shares the machine's memory`
        : `${sanitiseForTerminal(name)}, ${formatGibibytes(own)}`,
    ]),
  ];
}
