/** The settings of logs and traces. */
import { z } from "zod";
import { LOG_FORMATS, type LogFormat } from "./log.ts";
import { choiceSetting, declareSettings, parsedSetting, textSetting, webAddressSetting } from "./settings.ts";

interface LogConfig {
  logLevel: string;
  logFormat: LogFormat;
}

export const logSettings = declareSettings({
  title: "Logs",
  settings: {
    LOG_LEVEL: choiceSetting(["trace", "debug", "info", "warn", "error", "silent"], {
      default: "info",
      help: "The lowest level of log lines that are written; `debug` writes a line for every request.",
      see: "[Logs](monitoring.md#logs)",
    }),
    LOG_FORMAT: choiceSetting(LOG_FORMATS, {
      default: "auto",
      help: "`text` writes readable lines, `json` one object a line; `auto` is `text` on a terminal and `json` otherwise.",
    }),
  },
  config: (e): LogConfig => ({ logLevel: e.LOG_LEVEL, logFormat: e.LOG_FORMAT }),
});

const PROTOCOLS = ["http/protobuf", "http/json"] as const;
const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

interface TracingConfig {
  /** The encoding in which traces are sent to the collector. Undefined: no traces. */
  tracing: { encoding: "json" | "protobuf" } | undefined;
}

const protocol = z.enum(PROTOCOLS, "must be http/protobuf or http/json: traces cannot be sent over gRPC");
const protocolRule = "be http/protobuf or http/json";

export const traceSettings = declareSettings({
  title: "Traces",
  note: `OpenTelemetry defines these variables. The gateway checks these variables when it starts and reports wrong values, which OpenTelemetry's packages
would ignore. OpenTelemetry's packages read all other \`OTEL_*\` variables. See [Traces](monitoring.md#traces).`,
  settings: {
    OTEL_EXPORTER_OTLP_ENDPOINT: webAddressSetting({ without: "no traces", help: "Collector to send traces to." }),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: webAddressSetting({
      help: "Full URL for traces, used instead of `OTEL_EXPORTER_OTLP_ENDPOINT`.",
    }),
    OTEL_EXPORTER_OTLP_PROTOCOL: parsedSetting(protocol, {
      rule: protocolRule,
      without: "`http/protobuf`",
      help: "Encoding of the traces.",
    }),
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: parsedSetting(protocol, {
      rule: protocolRule,
      help: "Encoding of the traces, instead of `OTEL_EXPORTER_OTLP_PROTOCOL`.",
    }),
    OTEL_TRACES_EXPORTER: choiceSetting(["otlp", "none"], { default: "otlp", help: "`none` turns traces off." }),
    OTEL_SDK_DISABLED: textSetting({
      ...{ default: "false", matches: /^(true|false)$/i, rule: "be true or false" },
      help: "`true` turns traces off.",
    }),
    OTEL_TRACES_SAMPLER: choiceSetting(SAMPLERS, {
      without: "`parentbased_always_on`",
      help: "Which requests are traced.",
    }),
    OTEL_TRACES_SAMPLER_ARG: parsedSetting(
      z.coerce.number("must be a number from 0 to 1").min(0, "must be 0 or more").max(1, "must be 1 or less"),
      { rule: "be a number from 0 to 1", help: "Share of requests that a `…traceidratio` sampler traces." },
    ),
  },
  config: (e): TracingConfig => {
    const endpoint = e.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? e.OTEL_EXPORTER_OTLP_ENDPOINT;
    const isOff = e.OTEL_TRACES_EXPORTER === "none" || e.OTEL_SDK_DISABLED.toLowerCase() === "true";
    if (endpoint === undefined || isOff) return { tracing: undefined };
    const chosen = e.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? e.OTEL_EXPORTER_OTLP_PROTOCOL;
    return { tracing: { encoding: chosen === "http/json" ? "json" : "protobuf" } };
  },
});
