/** Sends this page's requests to the gateway, and keeps track of whether the gateway answers. */
import { takeEarly } from "./early.ts";
import { SLOW_MS, watchReach } from "./reach.ts";

/** Answers without a session and without any look-up. */
const PROBE = "/console/api/auth/methods";
const PROBE_MS_MAX = 5_000;
const PROXY_SAYS_AWAY = [502, 503, 504];

/** The gateway was not reached: there was no connection, or a proxy reported an error. */
export class Unreachable extends Error {
  override name = "Unreachable";
}

export const reach = watchReach({
  probe: gatewayAnswers,
  nowMs: Date.now,
  later: (ms, call) => {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
  random: Math.random,
});

export async function gatewayAnswers(): Promise<boolean> {
  try {
    return !(await isFromProxy(await fetch(PROBE, { cache: "no-store", signal: AbortSignal.timeout(PROBE_MS_MAX) })));
  } catch {
    return false;
  }
}

/** A fetch that throws Unreachable if something other than the gateway answered. */
export async function askGateway(url: string, init: RequestInit): Promise<Response> {
  const slow = setTimeout(reach.missed, SLOW_MS);
  try {
    const response = await (takeEarly(url, init) ?? fetch(url, init));
    if (await isFromProxy(response)) throw new Unreachable(`The gateway cannot be reached (${response.status}).`);
    reach.answered();
    return response;
  } catch (error) {
    // A request that was cancelled says nothing about the gateway.
    if (init.signal?.aborted === true) throw error;
    reach.missed();
    if (error instanceof Unreachable) throw error;
    throw new Unreachable("The gateway did not respond. Check your connection and try again.", { cause: error });
  } finally {
    clearTimeout(slow);
  }
}

/** The gateway explains its errors in JSON; a proxy does not. */
async function isFromProxy(response: Response): Promise<boolean> {
  if (!PROXY_SAYS_AWAY.includes(response.status)) return false;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  return typeof body !== "object" || body === null || !("error" in body);
}
