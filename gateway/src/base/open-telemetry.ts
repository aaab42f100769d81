/**
 * Sends traces by OpenTelemetry to a collector over OTLP/HTTP. Loaded only when enabled: the packages are optional
 * dependencies and read the standard environment variables themselves (endpoint, headers, sampler, batches, names).
 * Nothing is registered globally, so other libraries with OpenTelemetry support send nothing.
 */
import {
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { setGlobalErrorHandler, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { RateLimitedLog } from "./rate-limited-log.ts";
import type { SpanAttributes, Trace, Tracing } from "./tracing.ts";

interface Options {
  encoding: "json" | "protobuf";
  instance: string;
  version: string;
  /** Rate-limited, because an unreachable collector is reported repeatedly. */
  log: RateLimitedLog;
}

export function openTelemetry({ encoding, instance, version, log }: Options): Tracing {
  const complain = (reason: string): boolean => log.warn("collector", { reason }, "could not send traces");
  setGlobalErrorHandler((problem) => complain(reasonOf(problem)));
  const quiet = (): void => {};
  const told = (reason: string): void => void complain(reason);
  diag.setLogger(
    { error: told, warn: told, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const own = { "service.name": "tollgate", "service.version": version, "service.instance.id": instance };
  const provider = new BasicTracerProvider({
    // Environment variables override the gateway's own service attributes.
    resource: resourceFromAttributes(own).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(encoding === "json" ? new JsonExporter() : new ProtobufExporter())],
  });
  const tracer = provider.getTracer("tollgate", version);
  const propagator = new W3CTraceContextPropagator();

  return {
    begin(name, headers) {
      const around = propagator.extract(ROOT_CONTEXT, headers, HEADERS);
      const whole = tracer.startSpan(name, { kind: SpanKind.SERVER }, around);
      if (!whole.isRecording()) return unrecorded(whole);
      return recorded(whole, trace.setSpan(around, whole), (step, inside) => tracer.startSpan(step, {}, inside));
    },
    close: () => provider.shutdown().catch((error) => void complain(reasonOf(error))),
  };
}

const HEADERS = {
  get: (headers: Parameters<Tracing["begin"]>[1], name: string) => headers[name],
  keys: (headers: object) => Object.keys(headers),
};

function recorded(whole: Span, inside: Context, start: (step: string, inside: Context) => Span): Trace {
  let current: Span | undefined;
  return {
    id: whole.spanContext().traceId,
    step(name) {
      current?.end();
      current = start(name, inside);
    },
    note(facts: SpanAttributes) {
      for (const [name, value] of Object.entries(facts))
        if (value !== undefined) whole.setAttribute(`tollgate.${name}`, value);
    },
    end(failure) {
      if (failure !== undefined) {
        const status = { code: SpanStatusCode.ERROR, message: failure };
        current?.setStatus(status);
        whole.setStatus(status);
      }
      current?.end();
      whole.end();
    },
  };
}

/** The trace of a request that is not sampled. Its ID still helps to find the request in the logs of other services. */
function unrecorded(whole: Span): Trace {
  return { id: whole.spanContext().traceId, step() {}, note() {}, end() {} };
}

function reasonOf(problem: unknown): string {
  if (problem instanceof Error) return problem.message;
  return typeof problem === "string" ? problem : JSON.stringify(problem);
}
