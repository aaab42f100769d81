/** Explains why no engine was found at an address, and what to do. */
import type { Clock } from "../clock.ts";
import { EngineHttp, type ReachResult } from "./engine-http.ts";

export interface EngineAbsence {
  /**
   * `loading`: the model will be ready soon. `key`: an API key is required. `stranger`: the server is not an engine.
   */
  cause: "loading" | "key" | "unreachable" | "stranger";
  url: string;
  /** The problem in one line. */
  what: string;
  /** The remedy, such as "start the engine". */
  next: string;
}

interface Looking {
  apiKey?: string | undefined;
  probeMs: number;
  clock?: Clock | undefined;
}

/** Returns undefined if a server at the address lists models and is ready, as an engine does. */
export async function explainAbsenceAt(
  url: string,
  { apiKey, probeMs, clock }: Looking,
): Promise<EngineAbsence | undefined> {
  const http = new EngineHttp({ url, apiKey, probeMs, clock });
  const list = await http.reach("/v1/models");
  const found = explain(list, http.host, apiKey !== undefined);
  // llama-server lists its model before it is loaded. Only its health endpoint shows that it is still loading.
  const absence = found ?? loading(await http.reach("/health"), http.host);
  return absence && { ...absence, url: http.root };
}

/** Engines answer in JSON even when they are not ready, so an HTML page comes from a proxy. */
const isPage = (reached: ReachResult): boolean => "status" in reached && reached.contentType.startsWith("text/html");

type Finding = Omit<EngineAbsence, "url">;

function loading(reached: ReachResult, host: string): Finding | undefined {
  if (!("status" in reached) || isPage(reached) || ![429, 503].includes(reached.status)) return undefined;
  const { status } = reached;
  const what = status === 503 ? "is still loading its model" : "is overloaded";
  return {
    cause: "loading",
    what: `the engine at ${host} ${what} (HTTP ${status})`,
    next: "try again when the engine is ready; its log shows the progress",
  };
}

function explain(reached: ReachResult, host: string, hasKey: boolean): Finding | undefined {
  if (!("status" in reached)) return unreachable(reached, host);
  const { status, contentType, isTollgate } = reached;
  if (isTollgate)
    return {
      cause: "stranger",
      what: `${host} is a Tollgate gateway, not an engine (HTTP ${status})`,
      next: "give the address and port of the engine, not of the gateway",
    };
  if (status === 401 || (status === 403 && !isPage(reached)))
    return {
      cause: "key",
      what: `the engine at ${host} ${hasKey ? "refuses the key" : "requires a key"} (HTTP ${status})`,
      next: "set TOLLGATE_ENGINE_KEY to the engine's key; tollgate-host elect stores the key",
    };
  if (status === 200 && !isPage(reached)) return undefined;
  return loading(reached, host) ?? stranger(status, contentType, host);
}

const UNREACHABLE_REMEDIES: Record<string, string | undefined> = {
  ECONNREFUSED: "start the engine, or give the address and port it listens on",
  ENOTFOUND: "check the host name in the address",
  EAI_AGAIN: "check the host name in the address, and this machine's network",
};

function unreachable({ late, reason }: { late: boolean; reason: string }, host: string): Finding {
  const usual = late
    ? "check the address, and that no firewall blocks the connection"
    : "check the address: http or https, and the port";
  return {
    cause: "unreachable",
    what: `nothing answers at ${host} (${reason})`,
    next: UNREACHABLE_REMEDIES[reason] ?? usual,
  };
}

function stranger(status: number, contentType: string, host: string): Finding {
  const kind = contentType.split(";")[0]?.trim();
  return {
    cause: "stranger",
    what: `${host} is not an engine (HTTP ${status}${kind ? `, ${kind}` : ""})`,
    next: "a proxy or another service responds there: give the engine's own address and port, with any path before /v1",
  };
}
