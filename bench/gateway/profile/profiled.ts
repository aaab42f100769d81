/** Runs something while the processes of a target are sampled, and keeps the profiles beside the results. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Target } from "../targets/target.ts";
import { Inspector } from "./inspector.ts";
import { topTable } from "./top.ts";

/** Without inspectors, which is without `--profile`, it only runs. */
export async function profiled<T>(
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
