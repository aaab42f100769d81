/** The flags of `npm start`. Every mistake is reported, each naming its flag and rule. */
import { type Flag, type Given, UsageError } from "./line/command.ts";

const ENGINES = ["auto", "demo", "scripted"] as const;
const PAYMENTS = ["none", "demo"] as const;

export interface DevFlags {
  /** Undefined: what PORT says, or its default. */
  port: number | undefined;
  data: string;
  engine: (typeof ENGINES)[number];
  nodes: number;
  /** Undefined: every active model. */
  models: string[] | undefined;
  payments: (typeof PAYMENTS)[number];
  readyFile: string | undefined;
}

export const DEV_FLAGS: Record<string, Flag> = {
  port: { value: "N", help: "the gateway's port (PORT, or 8080; 0 for any free one)" },
  data: { value: "DIR", help: "where everything is kept (./data)" },
  engine: {
    value: "NAME",
    help: "auto, demo or scripted (auto: a local Ollama, llama-server, LM Studio or vLLM if one answers, else the demo model)",
  },
  nodes: { value: "N", help: "how many local nodes to run (1)" },
  "no-node": { help: "run none" },
  models: { value: "A,B", help: "what the local nodes elect (every active model)" },
  payments: {
    value: "NAME",
    help: "none or demo (none; demo: credits are bought from a stand-in on this machine, no money moves)",
  },
  "ready-file": { value: "FILE", help: "write one JSON object there once the gateway serves" },
};

export function parseDevFlags({ flags, switches }: Given): DevFlags {
  const mistakes: string[] = [];
  const whole = (flag: string, text: string, max: number): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value > max) mistakes.push(`--${flag} must be a whole number from 0 to ${max}`);
    return value;
  };
  const port = flags.port === undefined ? undefined : whole("port", flags.port, 65535);
  const nodes = switches.has("no-node") ? 0 : whole("nodes", flags.nodes ?? "1", 64);
  const engine = ENGINES.find((name) => name === (flags.engine ?? "auto"));
  if (engine === undefined) mistakes.push(`--engine must be one of ${ENGINES.join(", ")}`);
  const payments = PAYMENTS.find((name) => name === (flags.payments ?? "none"));
  if (payments === undefined) mistakes.push(`--payments must be one of ${PAYMENTS.join(", ")}`);
  const models = flags.models?.split(",").map((model) => model.trim());
  if (models?.some((model) => model === "")) mistakes.push("--models must be model ids separated by commas");
  const data = flags.data ?? "./data";
  if (data === "") mistakes.push("--data must name a directory");
  if (mistakes.length > 0) throw new UsageError(...mistakes);
  return {
    port,
    data,
    engine: engine ?? "auto",
    nodes,
    models,
    payments: payments ?? "none",
    readyFile: flags["ready-file"],
  };
}
