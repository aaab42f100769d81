/**
 * Runs a modest mixed load on one gateway for hours, and checks whether memory, descriptors, timers, tables and latency
 * stay constant.
 *
 * npm run bench -- soak [--minutes 120] [--out DIR]
 * npm run bench -- soak --report DIR [--pictures DIR]
 *
 * With `--report`, prints the report of the samples in DIR, also of a run that is still in progress. Samples are
 * appended to OUT/samples.jsonl every ten seconds, so that an aborted run has a result too. Linux only.
 */
import { appendFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { runTollgate } from "@tollgate/stage/dev-platform.ts";
import { ConsoleUsers } from "./console-users.ts";
import { openPlatformSampler, type PlatformSample } from "./platform-samples.ts";
import { SoakFleet } from "./soak-fleet.ts";
import { openSoakPlatform } from "./soak-platform.ts";
import { SoakTraffic } from "./soak-traffic.ts";

const SAMPLE_MS = 10_000;
/** How long to wait after the load, until all requests are in the ledger and in the rollups. */
const REST_MS = 90_000;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "120" },
    out: { type: "string", default: `.cache/soak/${new Date().toISOString().slice(0, 16).replaceAll(":", "-")}` },
    report: { type: "string" },
    pictures: { type: "string" },
  },
});

if (values.report !== undefined) {
  const { printReport } = await import("./report.ts");
  await printReport(resolve(values.report), values.pictures);
} else {
  const outDir = resolve(values.out);
  await mkdir(outDir, { recursive: true });
  await soak(outDir, Number(values.minutes) * 60);
}
process.exit(0);

async function soak(outDir: string, seconds: number): Promise<void> {
  const over = new AbortController();
  process.once("SIGINT", () => over.abort());
  process.once("SIGTERM", () => over.abort());
  const dataDir = await mkdtemp(join(tmpdir(), "tollgate-soak-"));
  const platform = await openSoakPlatform(outDir, dataDir);
  const traffic = new SoakTraffic(platform);
  const count = (kind: string, outcome: string): void => traffic.count(kind, outcome);
  const fleet = new SoakFleet(platform, outDir, count);
  const people = new ConsoleUsers(platform, count);
  try {
    await fleet.start();
    await people.start();
    traffic.start();
    const sampler = openPlatformSampler(platform, traffic);
    await keepSampling(sampler, seconds);
    await Promise.all([traffic.stop(), people.stop(), fleet.stop()]);
    await sleep(REST_MS);
    await appendFile(join(outDir, "at-rest.json"), JSON.stringify(await sampler()));
    const check = runTollgate(["admin", "ledger", "check", "--data", dataDir]);
    const code = await check.ended;
    console.log(check.output());
    await appendFile(join(outDir, "ledger-check.txt"), `${check.output()}\nexit ${code}\n`);
  } finally {
    await platform.close();
    await rm(dataDir, { recursive: true, force: true });
  }
  console.log(`Samples: ${outDir}. The report: npm run bench -- soak --report ${outDir}`);

  async function keepSampling(sample: () => Promise<PlatformSample>, until: number): Promise<void> {
    const file = join(outDir, "samples.jsonl");
    for (let nth = 0; !over.signal.aborted; nth++) {
      const taken = await sample();
      await appendFile(file, `${JSON.stringify(taken)}\n`);
      if (nth % 6 === 0) {
        const { at, requests, gauges, latenciesMs } = taken;
        const rss = gauges["gateway RSS, MiB"]?.toFixed(0);
        console.log(
          `${(at / 60).toFixed(0)} min: ${requests} requests, ${rss} MiB, p99 ${latenciesMs.p99.toFixed(1)} ms`,
        );
      }
      if (taken.at >= until) return;
      await sleep(SAMPLE_MS, undefined, { signal: over.signal }).catch(() => undefined);
    }
  }
}
