/** Opens tracing if the environment names a collector. */
import { readFile } from "node:fs/promises";
import { rateLimitedLog } from "../base/rate-limited-log.ts";
import { noTracing, type Tracing } from "../base/tracing.ts";
import { VERSION } from "../base/version.ts";
import type { BuildContext } from "./build-context.ts";

type TracingContext = Pick<BuildContext, "config" | "clock" | "log" | "gatewayId" | "onClose">;

export async function openTracing({ config, clock, log, gatewayId, onClose }: TracingContext): Promise<Tracing> {
  if (config.tracing === undefined) return noTracing;
  const { openTelemetry } = await import("../base/open-telemetry.ts").catch(explain);
  const tracing = openTelemetry({
    ...config.tracing,
    instance: gatewayId,
    version: VERSION,
    log: rateLimitedLog(log, clock),
  });
  onClose(() => tracing.close());
  return tracing;
}

/** Explains in the error that the tracing packages are optional and must be installed. */
async function explain(cause: unknown): Promise<never> {
  const missing = /'(@opentelemetry\/[\w-]+)/.exec(cause instanceof Error ? cause.message : "")?.[1];
  if (missing === undefined) throw cause;
  const manifest = await readFile(new URL("../../package.json", import.meta.url), "utf8");
  const needed: [string, string][] = Object.entries(JSON.parse(manifest).peerDependencies);
  throw new Error(
    `OTEL_EXPORTER_OTLP_ENDPOINT turns traces on, but the package ${missing} is not installed: ` +
      `npm install ${needed.map((one) => one.join("@")).join(" ")} (in a clone of the repository: npm ci), or unset the variable.`,
    { cause },
  );
}
