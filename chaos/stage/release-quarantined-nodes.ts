/** Releases quarantined nodes as the operator, and resumes them as their host. */
import type { Platform } from "./stage.ts";

export async function releaseQuarantinedNodes({ admin, balancer, customers }: Platform): Promise<void> {
  const api = async (method: string, path: string): Promise<{ data?: { id: string; state: string }[] }> => {
    const headers = { authorization: `Bearer ${customers.hostToken}` };
    const response = await fetch(`${balancer.url}/node/v1/nodes${path}`, { method, headers });
    return (await response.json()) as { data?: { id: string; state: string }[] };
  };
  const { data = [] } = await api("GET", "");
  for (const { id } of data.filter(({ state }) => state === "quarantined")) {
    await admin(["node", "release", id]);
    await api("POST", `/${id}/resume`);
  }
}
