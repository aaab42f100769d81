/**
 * The doctor's checks besides the engine: the gateway, its clock, the token, the node, the dispatch plane, memory and
 * disk. Each check returns its name, the result, and the next step.
 */

import { type CheckResult, failedCheck, passedCheck, warningCheck } from "@tollgate/terminal/check-results.ts";
import { sanitiseForTerminal } from "@tollgate/terminal/terminal-text.ts";
import type { PlaneDialer } from "../../agent/plane-connection.ts";
import type { Clock } from "../../clock.ts";
import { computeModelBytes } from "../../engines/model-requirements.ts";
import { convertToCommandFailure } from "../errors.ts";
import { formatCounted, formatGibibytes, formatMilliseconds, REDUCED_SLOTS_REASON } from "../format-values.ts";
import type { Node, NodeStatsAnswer } from "../gateway/gateway-answers.ts";
import type { GatewayClient, GatewayPing } from "../gateway/gateway-client.ts";
import { computeMemoryForModelsBytes, findHardware } from "../machine/hardware.ts";
import type { Machine } from "../machine/machine.ts";
import { formatQuarantineReason, formatQuarantineRemedy } from "../quarantine-texts.ts";

const PINGS = 3;
const SLOW_MS = 500;

/** The fastest of a few pings counts, because the first one includes setting up the connection. */
export async function checkGateway(gateway: GatewayClient, clock: Clock): Promise<CheckResult[]> {
  let best: GatewayPing | undefined;
  let skew: CheckResult | undefined;
  try {
    for (let i = 0; i < PINGS; i++) {
      const ping = await gateway.ping(clock);
      if (best !== undefined && ping.elapsedMs >= best.elapsedMs) continue;
      best = ping;
      skew = clockCheck(ping, clock.now());
    }
  } catch (error) {
    return [createCheckFromError("gateway", error, "check the address and the network")];
  }
  if (best === undefined || skew === undefined) return [];
  const took = `${gateway.address} answers in ${formatMilliseconds(best.elapsedMs)}`;
  const reach =
    best.elapsedMs < SLOW_MS
      ? passedCheck("gateway", took)
      : warningCheck(
          "gateway",
          took,
          "this delay is added to every token: a closer gateway or a better connection is faster",
        );
  return [reach, skew];
}

export async function checkToken(gateway: GatewayClient): Promise<CheckResult> {
  try {
    return passedCheck("token", `accepted; the account has ${formatCounted((await gateway.nodes()).length, "node")}`);
  } catch (error) {
    return createCheckFromError("token", error, "tollgate-host login");
  }
}

/** Warns if the node takes fewer requests at once than its engine. Returns undefined if it takes as many. */
export function checkSlots({ slots, engine_slots }: NodeStatsAnswer): CheckResult | undefined {
  if (engine_slots == null) return undefined;
  const detail = `the node accepts ${slots ?? 0} requests at once, fewer than the engine's ${engine_slots}: ${REDUCED_SLOTS_REASON}`;
  return warningCheck(
    "slots",
    detail,
    "the node accepts more again when the pauses between tokens are short: use a faster engine or fewer --slots",
  );
}

export function checkNode({ id, name, state, quarantine }: Node): CheckResult {
  const detail = `${id} (${sanitiseForTerminal(name)}) is ${state}`;
  if (state === "online") return passedCheck("node", detail);
  if (state === "ready") return passedCheck("node", `${detail}; tollgate-host up starts serving`);
  if (state === "paused") return warningCheck("node", detail, "to accept requests again: tollgate-host resume");
  if (state === "registered")
    return failedCheck("node", `${detail}: no models are chosen`, "tollgate-host elect chooses models");
  if (state === "quarantined") {
    const reason = quarantine == null ? "" : `: ${formatQuarantineReason(quarantine)}`;
    return failedCheck("node", `${detail}${reason}`, formatQuarantineRemedy(quarantine));
  }
  return failedCheck("node", detail, "tollgate-host register --name ANOTHER creates a new node with another name");
}

/** Tests the whole path: credentials, connection, and a round trip. */
export async function planeCheck(
  gateway: GatewayClient,
  node: string,
  { clock, dial }: { clock: Clock; dial: PlaneDialer },
): Promise<CheckResult> {
  try {
    const credentials = await gateway.credentials(node);
    const connection = await dial(credentials, `${node}-doctor`);
    try {
      const started = clock.monotonic();
      await connection.flush();
      return passedCheck("plane", `${credentials.url} answers in ${formatMilliseconds(clock.monotonic() - started)}`);
    } finally {
      await connection.close();
    }
  } catch (error) {
    return createCheckFromError("plane", error, "check that no firewall blocks connections to the dispatch plane");
  }
}

/** Turns an error into a failed check. The next step is the remedy for this kind of error, or else `usual`. */
export function createCheckFromError(name: string, error: unknown, usual: string): CheckResult {
  const { message, details, next } = convertToCommandFailure(error, usual);
  return { ...failedCheck(name, message, next), ...(details.length > 0 && { details }) };
}

const SECOND_MS = 1000;
/** Date headers are cut to the second, and responses take time. Smaller differences are ignored. */
const NOTICED_MS = 5_000;
/**
 * Credentials live for an hour. The agent renews them after 40 to 50 minutes, by this machine's clock. With a larger
 * difference between the clocks, that may be too late.
 */
const HARMFUL_MS = 10 * 60_000;

/**
 * The difference between this machine's clock and the gateway's. Positive if this machine is ahead, 0 within the
 * precision of a date header.
 */
export function computeClockSkewMs({ elapsedMs, serverTimeMs }: GatewayPing, nowMs: number): number | undefined {
  if (serverTimeMs === undefined) return undefined;
  // The gateway wrote the date between these two times.
  const [earliest, latest] = [nowMs - elapsedMs, nowMs];
  if (earliest > serverTimeMs + SECOND_MS) return earliest - serverTimeMs - SECOND_MS;
  return latest < serverTimeMs ? latest - serverTimeMs : 0;
}

export function clockCheck(ping: GatewayPing, nowMs: number): CheckResult {
  const skew = computeClockSkewMs(ping, nowMs);
  if (skew === undefined)
    return warningCheck("clock", "the gateway's response has no Date header", "check this machine's clock yourself");
  const off = Math.abs(skew);
  if (off < NOTICED_MS) return passedCheck("clock", "this machine's clock agrees with the gateway's");
  const detail = `${formatMilliseconds(off)} ${skew > 0 ? "ahead of" : "behind"} the gateway's`;
  const next = "set this machine's clock by the network: timedatectl set-ntp true";
  return off < HARMFUL_MS ? warningCheck("clock", detail, next) : failedCheck("clock", detail, next);
}

const GIB = 1024 ** 3;
const FREE_MEMORY_LOW = 0.5 * GIB;
const FREE_DISK_LOW = 1 * GIB;

/** `models`: the models that an engine on this machine has to load. */
export async function checkMemory(machine: Machine, models: readonly string[]): Promise<CheckResult> {
  const hardware = await findHardware(machine);
  const total = computeMemoryForModelsBytes(hardware);
  const [gpu] = hardware.gpus;
  const where = gpu === undefined ? "no graphics processor" : gpu.name;
  const detail = `${formatGibibytes(total)} for models (${where}), ${formatGibibytes(machine.freeMemoryBytes())} of memory free`;
  const large = models.filter((model) => (computeModelBytes(model) ?? 0) > total);
  if (large.length > 0)
    return warningCheck(
      "memory",
      `${detail}; too little for ${large.join(", ")}`,
      "choose smaller models: tollgate-host elect",
    );
  if (machine.freeMemoryBytes() < FREE_MEMORY_LOW)
    return warningCheck("memory", detail, "close other programs: an engine that swaps to disk is too slow to serve");
  return passedCheck("memory", detail);
}

export async function diskCheck(machine: Machine): Promise<CheckResult> {
  const free = await machine.freeDiskBytes(machine.home);
  const detail = `${formatGibibytes(free)} free`;
  return free < FREE_DISK_LOW
    ? warningCheck(
        "disk",
        detail,
        "delete files that you do not need: the engine and the operating system need free disk space to run",
      )
    : passedCheck("disk", detail);
}
