/** One `tollgate serve` of the stage, under a supervisor, on ports that stay the same; of this version or of an older one. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, newProcess, type Process } from "../parts/processes.ts";
import { type Supervised, supervise } from "./supervised.ts";

/** The sources that this harness is part of. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export interface Gateway extends Supervised {
  port: number;
  internalPort: number;
  /** From the next start on it runs these sources. */
  setVersion(root: string): void;
  /** The balancer sends it nothing, whatever its `/readyz` says. */
  isTakenOut: boolean;
}

interface GatewayOptions {
  name: string;
  directory: string;
  /** Its sources. */
  root: string;
  settings: Record<string, string>;
  /** Put before the command: what runs it with a clock or a network of its own. */
  wrapper?: string[];
}

export async function newGateway({ name, directory, root, settings, wrapper = [] }: GatewayOptions): Promise<Gateway> {
  const [port, internalPort] = [await freePort(), await freePort()];
  const dataDir = join(directory, name);
  await mkdir(dataDir);
  const processOf = (sources: string): Process =>
    newProcess({
      name,
      command: [
        ...wrapper,
        ...[process.execPath, "--max-semi-space-size=16", join(sources, "gateway/bin/tollgate.mjs"), "serve"],
      ],
      log: join(directory, `${name}.log`),
      environment: {
        ...bareEnvironment(),
        ...settings,
        ...{ PORT: String(port), INTERNAL_PORT: String(internalPort), DATA_DIR: dataDir },
      },
    });
  const supervised = supervise(processOf(root));
  return {
    ...supervised,
    port,
    internalPort,
    isTakenOut: false,
    setVersion: (sources) => supervised.replace(processOf(sources)),
  };
}

export async function isReady({ internalPort }: Pick<Gateway, "internalPort">): Promise<boolean> {
  const asked = fetch(`http://127.0.0.1:${internalPort}/readyz`, { signal: AbortSignal.timeout(2_000) });
  return (await asked.catch(() => undefined))?.status === 200;
}

/** Nothing of the harness's own settings. */
export const bareEnvironment = (): NodeJS.ProcessEnv => {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  return Object.fromEntries(
    Object.entries({ PATH, HOME, TMPDIR, NODE_COMPILE_CACHE }).filter(([, value]) => value !== undefined),
  );
};
