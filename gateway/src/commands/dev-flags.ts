/** The flags of `npm start`. Every mistake is reported, each naming its flag and rule. */
import { parseArgs } from "node:util";

const ENGINES = ["auto", "demo", "scripted"] as const;
const PAYMENTS = ["none", "demo"] as const;

export interface DevFlags {
  port: number;
  data: string;
  engine: (typeof ENGINES)[number];
  nodes: number;
  /** Undefined: every active model. */
  models: string[] | undefined;
  payments: (typeof PAYMENTS)[number];
  readyFile: string | undefined;
  help: boolean;
}

export const DEV_HELP = `Usage: npm start -- [flags]
  --port N           the gateway's port (8080; 0 for any free one)
  --data DIR         where everything is kept (./data)
  --engine NAME      auto, demo or scripted (auto: a local Ollama, llama-server, LM Studio or vLLM
                     if one answers, else the demo model)
  --nodes N          how many local nodes to run (1)
  --no-node          run none
  --models a,b       what the local nodes elect (every active model)
  --payments NAME    none or demo (none; demo: credits can be bought from a stand-in for the payment
                     provider on this machine; no money moves)
  --ready-file FILE  write one JSON object there once the gateway serves`;

export function parseDevFlags(args: string[]): DevFlags {
  const values = readFlags(args);
  const mistakes: string[] = [];
  const whole = (flag: string, text: string, max: number): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value > max) mistakes.push(`--${flag} must be a whole number from 0 to ${max}`);
    return value;
  };
  const port = whole("port", values.port, 65535);
  const nodes = values["no-node"] ? 0 : whole("nodes", values.nodes, 64);
  const engine = ENGINES.find((name) => name === values.engine);
  if (engine === undefined) mistakes.push(`--engine must be one of ${ENGINES.join(", ")}`);
  const payments = PAYMENTS.find((name) => name === values.payments);
  if (payments === undefined) mistakes.push(`--payments must be one of ${PAYMENTS.join(", ")}`);
  const models = values.models?.split(",").map((model) => model.trim());
  if (models?.some((model) => model === "")) mistakes.push("--models must be model ids separated by commas");
  if (values.data === "") mistakes.push("--data must name a directory");
  if (mistakes.length > 0) throw new Error(mistakes.join("; "));
  return {
    port,
    data: values.data,
    engine: engine ?? "auto",
    nodes,
    models,
    payments: payments ?? "none",
    readyFile: values["ready-file"],
    help: values.help,
  };
}

function readFlags(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        port: { type: "string", default: "8080" },
        data: { type: "string", default: "./data" },
        engine: { type: "string", default: "auto" },
        nodes: { type: "string", default: "1" },
        "no-node": { type: "boolean", default: false },
        models: { type: "string" },
        payments: { type: "string", default: "none" },
        "ready-file": { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (cause) {
    // Node explains itself over several lines; the first one names the flag.
    throw new Error(`${(cause as Error).message.split("\n")[0]} See npm start -- --help`, { cause });
  }
}
