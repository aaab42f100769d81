/**
 * The gateways of the stage: supervised `tollgate serve` processes on fixed ports, of the current version or an older
 * one.
 */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createGatewayProcess as newGatewayProcess } from "@tollgate/stage/gateway-process.ts";
import { findFreePort, type Process } from "@tollgate/stage/killable-process.ts";
import type { FakeClock } from "@tollgate/stage/servers/fake-clock.ts";
import { eventually } from "@tollgate/stage/wait.ts";
import { openSeparateNetwork, type SeparateNetwork } from "./separate-network.ts";
import { type SupervisedProcess, superviseProcess } from "./supervised-process.ts";

export interface Gateway extends SupervisedProcess {
  port: number;
  internalPort: number;
  /** Sets the directory of the sources that the gateway runs from its next start on. */
  setVersion(root: string): void;
  /** Sets settings that differ from those of the other gateways, from its next start on. */
  setSettings(own: Record<string, string>): void;
  /** If true, the load balancer sends no requests to the gateway, whatever `/readyz` reports. */
  isTakenOut: boolean;
  /** Whether the gateway was stopped on purpose and has not been ready since, so that nothing need listen on its port. */
  isStopped: boolean;
}

interface Place {
  directory: string;
  /** The directory of the sources with which the gateways start. */
  root: string;
  settings: Record<string, string>;
  /** A clock that can be set, for the first gateway only. */
  clock: FakeClock | undefined;
  /**
   * If true, the last gateway runs in a network of its own, which can be cut. `needed`: the ports of the servers that
   * this gateway uses outside its network.
   */
  cuts: boolean;
  needed: number[];
}

export async function makeGateways(
  count: number,
  { directory, root, settings, clock, cuts, needed }: Place,
): Promise<{ gateways: Gateway[]; apart: SeparateNetwork | undefined }> {
  const gateways: Gateway[] = [];
  let apart: SeparateNetwork | undefined;
  for (let i = 1; i <= count; i++) {
    const own = {
      name: `gateway-${i}`,
      directory,
      root,
      port: await findFreePort(),
      internalPort: await findFreePort(),
    };
    if (cuts && i === count) {
      apart = await openSeparateNetwork(own.name, directory, { needed, own: [own.port, own.internalPort] });
      const reachable = { HOST: "0.0.0.0", INTERNAL_HOST: "0.0.0.0" };
      gateways.push(await newGateway({ ...own, settings: { ...settings, ...reachable }, wrapper: apart.wrapper }));
    } else {
      const ofClock = i === 1 ? clock?.environment : undefined;
      gateways.push(await newGateway({ ...own, settings: { ...settings, ...ofClock }, wrapper: [] }));
    }
  }
  return { gateways, apart };
}

interface GatewayOptions {
  name: string;
  directory: string;
  root: string;
  settings: Record<string, string>;
  port: number;
  internalPort: number;
  /** Arguments to put before the gateway's command, such as those that enter a network namespace. */
  wrapper: string[];
}

async function newGateway(options: GatewayOptions): Promise<Gateway> {
  const { name, directory, root, settings, port, internalPort, wrapper } = options;
  const dataDir = join(directory, name);
  await mkdir(dataDir);
  const next = { root, settings: {} };
  const nextProcess = (): Process =>
    newGatewayProcess({
      name,
      dataDir,
      logFile: join(directory, `${name}.log`),
      env: { ...settings, ...next.settings, PORT: String(port), INTERNAL_PORT: String(internalPort) },
      root: next.root,
      wrapper,
    });
  const supervised = superviseProcess(nextProcess());
  const change = (changed: Partial<typeof next>): void => {
    Object.assign(next, changed);
    supervised.replace(nextProcess());
  };
  const gateway: Gateway = {
    ...supervised,
    port,
    internalPort,
    isTakenOut: false,
    isStopped: false,
    setVersion: (sources) => change({ root: sources }),
    setSettings: (own) => change({ settings: own }),
    end() {
      gateway.isStopped = true;
      return supervised.end();
    },
  };
  return gateway;
}

const askReadiness = (gateway: Gateway): Promise<Response | undefined> =>
  fetch(`http://127.0.0.1:${gateway.internalPort}/readyz`, { signal: AbortSignal.timeout(2_000) }).catch(
    () => undefined,
  );

/** Starts the gateway if it does not run, and waits until it reports that it is ready. */
export async function waitUntilServing(gateway: Gateway): Promise<void> {
  await gateway.start();
  await eventually(`${gateway.name} is ready`, async () => (await askReadiness(gateway))?.status === 200);
  gateway.isStopped = false;
}

/** Starts the gateway, and waits until it reports that it is not ready because of this setting. */
export async function waitUntilRefusing(gateway: Gateway, setting: string): Promise<void> {
  await gateway.start();
  await eventually(`${gateway.name} names ${setting}`, async () => {
    const answer = await askReadiness(gateway);
    return answer?.status === 503 && (await answer.text()).includes(setting);
  });
}
