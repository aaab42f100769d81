/**
 * Limits for several worker processes, which the primary process counts in its memory. Workers send their questions
 * over channels. The slots of a worker that died are freed at once. Both sides are in this file, so that their messages
 * match.
 */

import type { Clock } from "../base/clock.ts";
import { createReachableDependency } from "../base/dependency.ts";
import { ChannelError, LOWEST_FREE_MESSAGE_KIND, type ProcessMessageChannel } from "../base/process-message-channel.ts";
import { type LimitCounts, openMemoryLimits } from "./in-memory-limits.ts";
import {
  assertValidCount,
  assertValidLimits,
  type KeyLimits,
  type LimitEntry,
  type LimitRefusal,
  type Limits,
} from "./limits.ts";

const KINDS = { enter: 0, standing: 1, leave: 2, enterModel: 3, leaveModel: 4 };
const kind = (name: keyof typeof KINDS): number => LOWEST_FREE_MESSAGE_KIND + KINDS[name];

/** Separates the fields of a message. No ID, model name or number contains it. */
const SEPARATOR = "\n";
const join = (...parts: (string | number)[]): string => parts.join(SEPARATOR);

/** Counts for one worker. Runs in the primary process. */
export function serveLimitsToWorker(
  channel: ProcessMessageChannel,
  { clock, board }: { clock: Clock; board: LimitCounts },
): void {
  const limits = openMemoryLimits({ clock, board });
  channel.answer(kind("enter"), async ({ text }) => {
    const [keyId = "", id = "", ...numbers] = text.split(SEPARATOR);
    return writeEntry(await limits.enter(keyId, id, readLimits(numbers)));
  });
  channel.answer(kind("standing"), async ({ text }) => {
    const [keyId = "", ...numbers] = text.split(SEPARATOR);
    return writeEntry({ admitted: true, standing: await limits.standing(keyId, readLimits(numbers)) });
  });
  channel.answer(kind("enterModel"), async ({ text }) => {
    const [model = "", id = "", ceiling, account = ""] = text.split(SEPARATOR);
    return (await limits.enterModel(model, id, Number(ceiling), account)) ? "1" : "0";
  });
  channel.answer(kind("leave"), async ({ text }) => {
    const [keyId = "", id = "", tokens] = text.split(SEPARATOR);
    await limits.leave(keyId, id, Number(tokens));
    return "";
  });
  channel.on(kind("leaveModel"), ({ text }) => {
    const [model = "", id = ""] = text.split(SEPARATOR);
    void limits.leaveModel(model, id);
  });
  void channel.closed.then(async () => {
    limits.abandon();
    await limits.close();
  });
}

/**
 * Asks the primary process. Runs in a worker, which ends when the channel closes, because it cannot run without the
 * primary.
 */
export function openLimitsOfPrimary(channel: ProcessMessageChannel): Limits {
  return {
    health: createReachableDependency("limits"),
    async enter(keyId, id, limits) {
      assertValidLimits(limits);
      const { requestsPerMinute, tokensPerMinute, inFlight } = limits;
      const words = join(keyId, id, requestsPerMinute, tokensPerMinute, inFlight);
      return readEntry((await channel.ask(kind("enter"), words)).text, limits);
    },
    async standing(keyId, limits) {
      assertValidLimits(limits);
      const { requestsPerMinute, tokensPerMinute, inFlight } = limits;
      const words = join(keyId, requestsPerMinute, tokensPerMinute, inFlight);
      return readEntry((await channel.ask(kind("standing"), words)).text, limits).standing;
    },
    // Waits for the answer, because the client may send its next request to another worker at once.
    async leave(keyId, id, tokens) {
      assertValidCount("tokens", tokens);
      await channel.ask(kind("leave"), join(keyId, id, tokens)).catch(unlessGone);
    },
    async enterModel(model, id, ceiling, account = "") {
      assertValidCount("ceiling", ceiling);
      return (await channel.ask(kind("enterModel"), join(model, id, ceiling, account))).text === "1";
    },
    // Does not wait for the answer: the caller next waits for the request to leave its key (`leave`), and messages keep
    // their order.
    async leaveModel(model, id) {
      channel.tell(kind("leaveModel"), { text: join(model, id) });
    },
    async close() {},
  };
}

/** Ignores a closed channel, because the primary frees the slots of that worker. */
function unlessGone(error: unknown): void {
  if (!(error instanceof ChannelError)) throw error;
}

const readLimits = ([requests, tokens, inFlight]: string[]): KeyLimits => ({
  requestsPerMinute: Number(requests),
  tokensPerMinute: Number(tokens),
  inFlight: Number(inFlight),
});

function writeEntry(entry: LimitEntry): string {
  const { remainingRequests, remainingTokens, resetRequestsMs } = entry.standing;
  const counts = join(remainingRequests, remainingTokens, resetRequestsMs);
  return entry.admitted ? counts : join(counts, entry.retryAfterS, entry.code);
}

function readEntry(text: string, limits: KeyLimits): LimitEntry {
  const [remainingRequests, remainingTokens, resetMs, retryAfterS, code] = text.split(SEPARATOR);
  const standing = {
    limitRequests: limits.requestsPerMinute,
    remainingRequests: Number(remainingRequests),
    resetRequestsMs: Number(resetMs),
    limitTokens: limits.tokensPerMinute,
    remainingTokens: Number(remainingTokens),
    resetTokensMs: Number(resetMs),
  };
  if (code === undefined) return { admitted: true, standing };
  return { admitted: false, code: code as LimitRefusal, retryAfterS: Number(retryAfterS), standing };
}
