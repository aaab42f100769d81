/**
 * The rules of limits.ts as Lua scripts, one per operation, so that check and count are atomic across all gateways.
 * Scripts use the server's time, so that gateways with different clocks agree on the minute. Every key expires, and all
 * keys of one call share a hash tag.
 */
import type { Redis } from "ioredis";
import { MINUTE_MS } from "../base/time.ts";
import { type LimitRefusal, MODEL_SHARING_WINDOW_MS, SLOT_LEASE_MS } from "./limits.ts";

/** The counts of a minute are kept for two, so that clock differences cannot end the minute early. */
const WINDOW_TTL_MS = 2 * MINUTE_MS;

/** Reads the time. In tests, the first argument replaces the server's time. */
const TIME = `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/** Functions for leases. Numbers are passed as decimal text, because older servers write large ones as 1.8e+12. */
const LEASE = `
local function lease(key, id)
  redis.call('ZADD', key, string.format('%.0f', now + ${SLOT_LEASE_MS}), id)
  redis.call('PEXPIRE', key, ${SLOT_LEASE_MS})
end
local function holds(key, id)
  local stop = redis.call('ZSCORE', key, id)
  return stop and tonumber(stop) > now
end
local function count(key)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
  return redis.call('ZCARD', key)
end
`;

const WINDOW = `
local minute = math.floor(now / ${MINUTE_MS})
local requests, tokens = 0, 0
local stored = redis.call('HMGET', KEYS[1], 'minute', 'requests', 'tokens')
if tonumber(stored[1]) == minute then
  requests, tokens = tonumber(stored[2]), tonumber(stored[3])
end
local function store()
  redis.call('HSET', KEYS[1], 'minute', string.format('%.0f', minute),
    'requests', string.format('%.0f', requests), 'tokens', string.format('%.0f', tokens))
  redis.call('PEXPIRE', KEYS[1], ${WINDOW_TTL_MS})
end
`;

/** Lets a request enter. KEYS: window, slots. ARGV: time, id, requests per minute, tokens per minute, in flight. */
const ENTER = `${TIME}${LEASE}${WINDOW}
local verdict = 0
if not holds(KEYS[2], ARGV[2]) then
  if requests >= tonumber(ARGV[3]) then verdict = 1
  elseif tokens >= tonumber(ARGV[4]) then verdict = 2
  elseif count(KEYS[2]) >= tonumber(ARGV[5]) then verdict = 3
  end
  if verdict ~= 1 then
    requests = requests + 1
    store()
  end
end
if verdict == 0 then lease(KEYS[2], ARGV[2]) end
return {verdict, requests, tokens, (minute + 1) * ${MINUTE_MS} - now}
`;

/** Reads the counts. KEYS: window. ARGV: time. Returns the same fields as ENTER. */
const STANDING = `${TIME}${WINDOW}
return {0, requests, tokens, (minute + 1) * ${MINUTE_MS} - now}
`;

/**
 * Returns a slot and adds tokens. KEYS: window, slots. ARGV: time, id, tokens, '1' if no earlier try can have been
 * executed. Otherwise the slot decides: if it is no longer there, an earlier try returned it and added the tokens.
 */
const LEAVE = `${TIME}${WINDOW}
local removed = redis.call('ZREM', KEYS[2], ARGV[2])
local spent = tonumber(ARGV[3])
if spent > 0 and (removed == 1 or ARGV[4] == '1') then
  tokens = tokens + spent
  store()
end
return removed
`;

/**
 * Takes one of a model's request slots if `mayAdmitRequestToModel` allows it. KEYS: the model's taken slots, the slots
 * taken by this account, the accounts that take slots. ARGV: time, id, ceiling, account.
 */
const ENTER_MODEL = `${TIME}${LEASE}
redis.call('ZADD', KEYS[3], string.format('%.0f', now + ${MODEL_SHARING_WINDOW_MS}), ARGV[4])
redis.call('PEXPIRE', KEYS[3], ${MODEL_SHARING_WINDOW_MS})
if not holds(KEYS[1], ARGV[2]) then
  local ceiling = tonumber(ARGV[3])
  local each = math.max(1, math.floor(ceiling / count(KEYS[3])))
  local places = count(KEYS[1])
  if places >= ceiling or (count(KEYS[2]) >= each and places >= math.floor(ceiling / 2)) then return 0 end
end
lease(KEYS[1], ARGV[2])
lease(KEYS[2], ARGV[2])
return 1
`;

/**
 * Renews leases. KEYS: slots or places. ARGV: time, ids. An expired lease is taken again, above the limit if necessary,
 * because its request still runs. This restores the counts after the server lost its data.
 */
const RENEW = `${TIME}${LEASE}
for i = 2, #ARGV do lease(KEYS[1], ARGV[i]) end
return #ARGV - 1
`;

export const VALKEY_SCRIPTS = {
  limitsEnter: { lua: ENTER, numberOfKeys: 2 },
  limitsStanding: { lua: STANDING, numberOfKeys: 1 },
  limitsLeave: { lua: LEAVE, numberOfKeys: 2 },
  limitsEnterModel: { lua: ENTER_MODEL, numberOfKeys: 3 },
  limitsRenew: { lua: RENEW, numberOfKeys: 1 },
};

/**
 * The client with one command per script: keys first, then arguments. It sends a script's hash, or its text if the
 * server does not have it yet.
 */
export type RedisWithScripts = Redis &
  Record<keyof typeof VALKEY_SCRIPTS, (...words: (string | number)[]) => Promise<unknown>>;

/** The results of a check, by the number that ENTER returns. */
export const REFUSALS_BY_ENTER_RESULT: readonly (LimitRefusal | null)[] = [
  null,
  "rate_limit_requests",
  "rate_limit_tokens",
  "rate_limit_streams",
];
