/** Traces, where the environment names a collector. */
import { sparingLog } from "../base/sparing-log.ts";
import { noTracing, type Tracing } from "../base/tracing.ts";
import type { Context } from "./context.ts";

export async function openTracing({ config, clock, log, gatewayId, version, onClose }: Context): Promise<Tracing> {
  if (config.tracing === undefined) return noTracing;
  const { openTelemetry } = await import("../base/open-telemetry.ts").catch(explain);
  const tracing = openTelemetry({ ...config.tracing, instance: gatewayId, version, log: sparingLog(log, clock) });
  onClose(() => tracing.close());
  return tracing;
}

function explain(cause: unknown): never {
  const missing = /'(@opentelemetry\/[\w-]+)/.exec(cause instanceof Error ? cause.message : "")?.[1];
  if (missing === undefined) throw cause;
  throw new Error(
    `OTEL_EXPORTER_OTLP_ENDPOINT asks for traces, and the package ${missing} is not installed. ` +
      "It is an optional dependency: install without --omit=optional, or unset the variable.",
    { cause },
  );
}
