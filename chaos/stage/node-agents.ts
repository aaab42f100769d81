/** The agents of the stage: they belong to one host, use the scripted engine, and each has a supervisor. */
import { join } from "node:path";
import { createAgent as newAgentProcess } from "@tollgate/stage/nodes/start-agent.ts";
import { openSeparateNetwork, type SeparateNetwork } from "./separate-network.ts";
import { type SupervisedProcess, superviseProcess } from "./supervised-process.ts";

interface Place {
  directory: string;
  /** The gateway from which the agents get their credentials. */
  gatewayUrl: string;
  hostToken: string;
  models: readonly string[];
  slots: number;
  /** The file with the certificate of the authority that signed the certificates of the dispatch plane. */
  authority: string | undefined;
  /**
   * If true, the last agent runs in a network of its own, which can be cut. `needed`: the ports of the servers that
   * this agent uses outside its network.
   */
  cuts: boolean;
  needed: number[];
}

export async function createNodeAgents(
  count: number,
  place: Place,
): Promise<{ agents: SupervisedProcess[]; apart: SeparateNetwork | undefined }> {
  const { directory, cuts, needed } = place;
  const names = Array.from({ length: count }, (_, i) => `agent-${i + 1}`);
  const apart = cuts ? await openSeparateNetwork(`agent-${count}`, directory, { needed, own: [] }) : undefined;
  const agents = names.map((name, i) => newAgent(name, place, i === count - 1 ? (apart?.wrapper ?? []) : []));
  return { agents, apart };
}

function newAgent(name: string, place: Place, wrapper: string[]): SupervisedProcess {
  const { directory, gatewayUrl, hostToken, models, slots, authority } = place;
  const agent = newAgentProcess({
    ...{ name, gatewayUrl, hostToken, models, slots, wrapper },
    logFile: join(directory, `${name}.log`),
    ...(authority !== undefined && { env: { NODE_EXTRA_CA_CERTS: authority } }),
  });
  return superviseProcess(agent, { endWithinMs: 15_000 });
}
