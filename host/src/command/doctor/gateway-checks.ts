/** Whether the gateway is there, knows the token and the node, and whether its dispatch plane lets the node in. */
import type { Dial } from "../../agent/plane.ts";
import type { Clock } from "../../clock.ts";
import { complaintOf } from "../errors.ts";
import type { Node } from "../gateway/answers.ts";
import type { GatewayClient, Ping } from "../gateway/client.ts";
import { quarantineReason, quarantineRemedy } from "../quarantine.ts";
import { counted, milliseconds } from "../terminal/figures.ts";
import { tame } from "../terminal/paint.ts";
import { type Check, fail, ok, warn } from "./check.ts";
import { clockCheck } from "./clock-skew.ts";

const PINGS = 3;
const SLOW_MS = 500;

/** The best of a few answers: the first one pays for setting up the connection. */
export async function gatewayChecks(gateway: GatewayClient, clock: Clock): Promise<Check[]> {
  let best: Ping | undefined;
  let skew: Check | undefined;
  try {
    for (let i = 0; i < PINGS; i++) {
      const ping = await gateway.ping(clock);
      if (best !== undefined && ping.elapsedMs >= best.elapsedMs) continue;
      best = ping;
      skew = clockCheck(ping, clock.now());
    }
  } catch (error) {
    return [failure("gateway", error, "check the address and the network")];
  }
  if (best === undefined || skew === undefined) return [];
  const took = `${gateway.address} answers in ${milliseconds(best.elapsedMs)}`;
  const reach =
    best.elapsedMs < SLOW_MS
      ? ok("gateway", took)
      : warn("gateway", took, "every token travels this way: a nearer or better connection serves faster");
  return [reach, skew];
}

export async function tokenCheck(gateway: GatewayClient): Promise<Check> {
  try {
    return ok("token", `accepted; the account has ${counted((await gateway.nodes()).length, "node")}`);
  } catch (error) {
    return failure("token", error, "tollgate-host login");
  }
}

export function nodeCheck({ id, name, state, quarantine }: Node): Check {
  const detail = `${id} (${tame(name)}) is ${state}`;
  if (state === "online") return ok("node", detail);
  if (state === "ready") return ok("node", `${detail}: tollgate-host up serves`);
  if (state === "paused") return warn("node", detail, "tollgate-host resume lets requests in again");
  if (state === "registered") return fail("node", `${detail}: nothing is elected`, "tollgate-host elect");
  if (state === "quarantined") {
    const reason = quarantine == null ? "" : `: ${quarantineReason(quarantine)}`;
    return fail("node", `${detail}${reason}`, quarantineRemedy(quarantine));
  }
  return fail("node", detail, "tollgate-host register --name ANOTHER makes a new node");
}

/** Goes all the way: credentials, connection, and a word there and back. */
export async function planeCheck(
  gateway: GatewayClient,
  node: string,
  { clock, dial }: { clock: Clock; dial: Dial },
): Promise<Check> {
  try {
    const credentials = await gateway.credentials(node);
    const connection = await dial(credentials, `${node}-doctor`);
    try {
      const started = clock.monotonic();
      await connection.flush();
      return ok("plane", `${credentials.url} answers in ${milliseconds(clock.monotonic() - started)}`);
    } finally {
      await connection.close();
    }
  } catch (error) {
    return failure("plane", error, "the agent dials out to the plane's address: is a firewall in the way?");
  }
}

/** An error as a finding, with the remedy its kind has, or `usual`. */
export function failure(name: string, error: unknown, usual: string): Check {
  const { lines, next } = complaintOf(error, undefined);
  return fail(name, tame(lines.join("; ")), next ?? usual);
}
