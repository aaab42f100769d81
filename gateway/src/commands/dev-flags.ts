/** Parses the flags of `npm start`, and reports every mistake with its flag and rule. */
import type { CommandInput, Flag } from "@tollgate/terminal/command.ts";
import { UsageError } from "@tollgate/terminal/errors.ts";

const ENGINES = ["auto", "demo", "scripted"] as const;
const PAYMENTS = ["none", "demo"] as const;

export interface DevFlags {
  /** Undefined means PORT or its default. */
  port: number | undefined;
  data: string;
  engine: (typeof ENGINES)[number];
  nodes: number;
  /** Undefined means every active model. */
  models: string[] | undefined;
  payments: (typeof PAYMENTS)[number];
  readyFile: string | undefined;
}

export const DEV_FLAGS: Record<string, Flag> = {
  port: { value: "N", help: "the gateway's port (default: PORT, or 8080; 0 for any free one)" },
  data: { value: "DIR", help: "directory for all data of the platform (default: ./data)" },
  engine: {
    value: "NAME",
    help: "the engine of the local nodes (default: auto, a local Ollama, llama-server, LM Studio or vLLM if one answers, else the demo model)",
    oneOf: ENGINES,
  },
  nodes: { value: "N", help: "how many local nodes to run (default: 1)" },
  "no-node": { help: "run no local node" },
  models: { value: "A,B", help: "models that the local nodes elect (choose); default: every active model" },
  payments: {
    value: "NAME",
    help: "how credits are bought (default: none; demo: a fake payment provider on this machine, no real money)",
    oneOf: PAYMENTS,
  },
  "ready-file": { value: "FILE", help: "file to write addresses and keys to, as JSON, when the gateway is ready" },
};

export function parseDevFlags({ flags, switches }: CommandInput): DevFlags {
  const mistakes: string[] = [];
  const whole = (flag: string, text: string, max: number): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value > max) mistakes.push(`--${flag} must be a whole number from 0 to ${max}`);
    return value;
  };
  const port = flags.port === undefined ? undefined : whole("port", flags.port, 65535);
  const nodes = switches.has("no-node") ? 0 : whole("nodes", flags.nodes ?? "1", 64);
  const models = flags.models?.split(",").map((model) => model.trim());
  if (models?.some((model) => model === "")) mistakes.push("--models must be model ids separated by commas");
  const data = flags.data ?? "./data";
  if (data === "") mistakes.push("--data must name a directory");
  if (mistakes.length > 0) throw new UsageError(mistakes);
  return {
    port,
    data,
    engine: (flags.engine ?? "auto") as DevFlags["engine"],
    nodes,
    models,
    payments: (flags.payments ?? "none") as DevFlags["payments"],
    readyFile: flags["ready-file"],
  };
}
