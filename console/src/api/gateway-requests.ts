/** Sends this page's requests to the gateway, and records whether the gateway responds. */

import { SLOW_RESPONSE_MS, watchReachability } from "./gateway-reachability.ts";
import { takePrefetchedResponse } from "./prefetched-responses.ts";

/** A route that needs no session and no database query, to check whether the gateway responds. */
const PROBE = "/console/api/auth/methods";
const PROBE_MS_MAX = 5_000;
const PROXY_SAYS_AWAY = [502, 503, 504];

/** The request did not reach the gateway: the connection failed, or a proxy returned the error. */
export class GatewayUnreachable extends Error {
  override name = "Unreachable";
}

export const gatewayReachability = watchReachability({
  probe: probeGateway,
  nowMs: Date.now,
  later: (ms, call) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
  random: Math.random,
});

export async function probeGateway(): Promise<boolean> {
  try {
    return !(await isFromProxy(await fetch(PROBE, { cache: "no-store", signal: AbortSignal.timeout(PROBE_MS_MAX) })));
  } catch {
    return false;
  }
}

/** Like fetch, but throws Unreachable unless the gateway itself responded. */
export async function askGateway(url: string, init: RequestInit): Promise<Response> {
  const slow = setTimeout(gatewayReachability.missed, SLOW_RESPONSE_MS);
  try {
    const response = await (takePrefetchedResponse(url, init) ?? fetch(url, init));
    if (await isFromProxy(response))
      throw new GatewayUnreachable(`The gateway cannot be reached (${response.status}).`);
    gatewayReachability.answered();
    return response;
  } catch (error) {
    // A request that the page canceled does not show whether the gateway responds.
    if (init.signal?.aborted === true) throw error;
    gatewayReachability.missed();
    if (error instanceof GatewayUnreachable) throw error;
    throw new GatewayUnreachable("The gateway did not respond. Check your connection and try again.", { cause: error });
  } finally {
    clearTimeout(slow);
  }
}

/** Whether a proxy returned this error. The gateway's own error responses are JSON; a proxy's are not. */
async function isFromProxy(response: Response): Promise<boolean> {
  if (!PROXY_SAYS_AWAY.includes(response.status)) return false;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  return typeof body !== "object" || body === null || !("error" in body);
}
