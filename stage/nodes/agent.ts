/** A node as a process: `tollgate-host up` with the scripted engine. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Platform, Ready } from "../dev.ts";
import { eventually } from "../wait.ts";

const HOST = fileURLToPath(new URL("../../host/bin/tollgate-host.mjs", import.meta.url));

/** Whether a connected node keeps to a form, by model, as the list of models tells it. */
export async function formsKept({ ready }: Pick<Platform, "ready">): Promise<Map<string, boolean>> {
  const headers = { authorization: `Bearer ${ready.api_key}` };
  const response = await fetch(`${ready.base_url}/v1/models`, { headers });
  const { data } = (await response.json()) as { data: { id: string; vendor: { structured_output: boolean } }[] };
  return new Map(data.map(({ id, vendor }) => [id, vendor.structured_output]));
}

/** A node is online before it has said what its engine can. */
export async function untilFormsAreKept(platform: Pick<Platform, "ready">, model: string): Promise<void> {
  await eventually(`a node keeps to forms for ${model}`, async () => (await formsKept(platform)).get(model));
}

/** A node of the platform's host with so many slots. Resolves once it is online; ends with this process. */
export async function startNode(
  platform: { ready: Pick<Ready, "base_url" | "host_token"> },
  node: { name: string; model: string; slots: number },
): Promise<ChildProcess> {
  const { name, model, slots } = node;
  const flags = ["--gateway", platform.ready.base_url, "--name", name, "--engine", "scripted", "--models", model];
  const child = spawn(process.execPath, [HOST, "up", ...flags, "--slots", String(slots)], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    env: { ...process.env, TOLLGATE_HOST_TOKEN: platform.ready.host_token },
  });
  return await new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the node ${name} ended with ${code}`)));
    child.once("message", (message: { type: string; message?: string }) => {
      if (message.type === "online") resolve(child);
      else reject(new Error(message.message));
    });
  });
}
