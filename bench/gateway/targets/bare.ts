/** The bare proxy as a target. */
import { fileURLToPath } from "node:url";
import { Child } from "../machine/children.ts";
import { passThrough, type StartTarget } from "./target.ts";

const PROXY = fileURLToPath(new URL("./bare-proxy.ts", import.meta.url));

export const bare: StartTarget = async ({ engine, processors, outDir }) => {
  const child = new Child({
    name: "bare",
    command: [process.execPath, PROXY, String(engine.port)],
    processors: processors.measured,
    outDir,
    channel: true,
  });
  const port = await child.message((message) => {
    const { type, port } = message as { type: string; port: number };
    return type === "listening" ? port : undefined;
  });
  return passThrough("bare", child, { port });
};
