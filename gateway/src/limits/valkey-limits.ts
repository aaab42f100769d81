/**
 * Limits in Valkey or Redis, shared by many gateways. If the server does not answer in time, no request is admitted,
 * and none waits longer than the timeout.
 */
import type { Clock } from "../base/clock.ts";
import { invariant } from "../base/invariant.ts";
import type { Log } from "../base/log.ts";
import { HeldLeases } from "./held-leases.ts";
import {
  assertValidCount,
  assertValidLimits,
  type KeyLimits,
  type LimitEntry,
  type Limits,
  LimitsUnavailable,
  makeAdmissionResult,
  type UnavailableCause,
} from "./limits.ts";
import { type ConnectValkey, ValkeyLink } from "./valkey-link.ts";
import { REFUSALS_BY_ENTER_RESULT, type RedisWithScripts } from "./valkey-scripts.ts";
import { type SlotReturn, SlotReturns } from "./valkey-slot-returns.ts";

/**
 * Long enough for a machine that is briefly busy. After this timeout the server counts as unreachable for all requests.
 */
const ANSWER_TIMEOUT_MS = 1_500;
const RENEW_IDS_MAX = 1_000;
const RENEW_AT_ONCE = 100;
/** How often the server's eviction policy is read. */
const READ_POLICY_EVERY_MS = 60_000;

interface ValkeyOptions {
  /** The server's URL: `redis://`, `rediss://`, `valkey://`, `valkeys://`, or the path of a socket. */
  url: string;
  clock: Clock;
  log: Log;
  answerTimeoutMs?: number;
  /** Called for each command of a request that got no answer. */
  unavailable?: (cause: UnavailableCause) => void;
  /** The prefix of all keys, which separates platforms that share a server. */
  prefix?: string;
  /** In tests: replaces the server's time. */
  nowMs?: () => number;
  /** In tests: replaces the client that opens a socket. */
  connect?: ConnectValkey;
}

/** Opens the limits. Resolves when connected, or after the first failed try; further tries run in the background. */
export async function openValkeyLimits(options: ValkeyOptions): Promise<Limits> {
  const { clock, log, answerTimeoutMs = ANSWER_TIMEOUT_MS, prefix = "tollgate", nowMs } = options;
  const departures = new SlotReturns({ clock, log });
  const time = (): string | number => nowMs?.() ?? "";
  const link = new ValkeyLink({
    url: options.url,
    connect: options.connect,
    clock,
    log,
    answerTimeoutMs,
    // Tests with a write, because a read-only server cannot be used.
    probe: (redis) => redis.limitsRenew(`${prefix}:limits:{probe}`, time(), "probe"),
    unavailable: options.unavailable,
    // Renews all leases at once, because the server may have lost its data.
    back: () => renew(),
  });
  // The braces mark a hash tag: in a cluster, all keys of one call are on the same server.
  const windowOf = (keyId: string): string => `${prefix}:limits:{key:${keyId}}:window`;
  const slotsOf = (keyId: string): string => `${prefix}:limits:{key:${keyId}}:slots`;
  const placesOf = (model: string): string => `${prefix}:limits:{model:${model}}:places`;

  let renewing = false;
  const renew = (): void => {
    if (renewing) return;
    renewing = true;
    void renewAll(held, { link, time }).finally(() => {
      renewing = false;
    });
  };
  const held = new HeldLeases(clock, renew);

  const signOff = (keyId: string, id: string, tokens: number): SlotReturn => ({
    group: slotsOf(keyId),
    id,
    tokens,
    send: (sure) =>
      link.tell((redis) => redis.limitsLeave(windowOf(keyId), slotsOf(keyId), time(), id, tokens, sure ? "1" : "0")),
  });
  /**
   * By model and request ID, for this gateway's requests: the Valkey key that counts the account's requests on the
   * model.
   */
  const owners = new Map<string, string>();
  const vacate = (model: string, id: string, own: string): SlotReturn => ({
    group: placesOf(model),
    id,
    tokens: 0,
    send: async () => {
      await link.tell((redis) => redis.zrem(own, id));
      return link.tell((redis) => redis.zrem(placesOf(model), id));
    },
  });
  /**
   * Asks the server to admit a request (`entry`). If the answer is lost, the server may have granted a lease, which is
   * then returned in the background.
   */
  const ask = async <T>(entry: () => Promise<T>, undo: SlotReturn): Promise<T> => {
    try {
      return await entry();
    } catch (error) {
      if (error instanceof LimitsUnavailable && error.maybeDone) departures.undo(undo);
      throw error;
    }
  };
  const hold = ({ group, id }: SlotReturn): void => {
    departures.forget(group, id);
    held.add(group, id);
  };

  await link.open();
  let evicts: boolean | undefined;
  const readPolicy = (): void => {
    link.tell(memoryInfoOf).then(
      (info) => {
        const [, policy] = /^maxmemory_policy:(\S+)/m.exec(info) ?? [];
        evicts = policy === undefined ? undefined : policy !== "noeviction";
      },
      // Nothing to do: the connection logs that the server is unreachable.
      () => {},
    );
  };
  readPolicy();
  const stopReading = clock.every(READ_POLICY_EVERY_MS, readPolicy);
  return {
    health: link,
    get evicts() {
      return evicts;
    },
    async enter(keyId, id, limits) {
      assertValidLimits(limits);
      const { requestsPerMinute, tokensPerMinute, inFlight } = limits;
      const words = [windowOf(keyId), slotsOf(keyId), time(), id, requestsPerMinute, tokensPerMinute, inFlight];
      const undo = signOff(keyId, id, 0);
      const entry = readEntry(await ask(() => link.ask((redis) => redis.limitsEnter(...words)), undo), limits);
      if (entry.admitted) hold(undo);
      return entry;
    },

    async standing(keyId, limits) {
      assertValidLimits(limits);
      return readEntry(await link.ask((redis) => redis.limitsStanding(windowOf(keyId), time())), limits).standing;
    },

    async leave(keyId, id, tokens) {
      assertValidCount("tokens", tokens);
      if (held.remove(slotsOf(keyId), id)) await departures.depart(signOff(keyId, id, tokens));
    },

    async enterModel(model, id, ceiling, account = "") {
      assertValidCount("ceiling", ceiling);
      const places = placesOf(model);
      const own = `${places}:of:${account}`;
      const undo = vacate(model, id, own);
      const words = [places, own, `${places}:accounts`, time(), id, ceiling, account];
      const answer = await ask(() => link.ask((redis) => redis.limitsEnterModel(...words)), undo);
      if (answer !== 1) return false;
      hold(undo);
      held.add(own, id);
      owners.set(`${places} ${id}`, own);
      return true;
    },

    async leaveModel(model, id) {
      const places = placesOf(model);
      const own = owners.get(`${places} ${id}`) ?? "";
      owners.delete(`${places} ${id}`);
      held.remove(own, id);
      if (held.remove(places, id)) await departures.depart(vacate(model, id, own));
    },

    async close() {
      stopReading();
      held.stop();
      await departures.close();
      await link.close();
    },
  };
}

/** Empty if the Valkey user may not run INFO, which does not mean that the server fails. */
const memoryInfoOf = (redis: RedisWithScripts): Promise<string> =>
  redis.info("memory").catch((error: Error) => (error.name === "ReplyError" ? "" : Promise.reject(error)));

function readEntry(answer: unknown, limits: KeyLimits): LimitEntry {
  invariant(Array.isArray(answer) && answer.every(Number.isSafeInteger), "the script answers with counts");
  const [verdict, requests, tokens, resetMs] = answer as [number, number, number, number];
  const refusal = REFUSALS_BY_ENTER_RESULT[verdict];
  invariant(refusal !== undefined, `no such verdict: ${verdict}`);
  return makeAdmissionResult(refusal, { requests, tokens, resetMs }, limits);
}

/** Ignores failed renewals, which the connection logs. A lease outlives three of them. */
async function renewAll(
  held: HeldLeases,
  { link, time }: { link: ValkeyLink; time: () => string | number },
): Promise<void> {
  const groups = held.groups();
  for (let start = 0; start < groups.length; start += RENEW_AT_ONCE) {
    const asked = groups.slice(start, start + RENEW_AT_ONCE).flatMap((group) => {
      const ids = held.idsOf(group);
      const parts = Array.from({ length: Math.ceil(ids.length / RENEW_IDS_MAX) }, (_, part) =>
        ids.slice(part * RENEW_IDS_MAX, (part + 1) * RENEW_IDS_MAX),
      );
      return parts.map((part) => link.tell((redis) => redis.limitsRenew(group, time(), ...part)));
    });
    await Promise.allSettled(asked);
  }
}
