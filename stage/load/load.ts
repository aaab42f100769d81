/**
 * Sends a steady load of mixed requests, with the kinds and rates of request-kinds.ts. Requests start without waiting
 * for earlier ones, so requests that a fault delays accumulate, as in production. Beyond a limit for this machine,
 * requests are counted instead of sent.
 */
import type { SeededRandom } from "../seeded-random.ts";
import { type OutgoingRequest, sendAndObserve } from "./client.ts";
import type { PlannedRequest, RequestObservation } from "./observation.ts";
import { makeRandomText, REQUEST_KINDS, type RequestKind } from "./request-kinds.ts";

const TICK_MS = 50;
/** The maximum number of requests in flight, more than the load ever has without a fault. */
const UNDER_WAY_MAX = 150;
const CAPS = { least: 200, most: 7_000 };
const PATHS = { chat: "/v1/chat/completions", completion: "/v1/completions", embedding: "/v1/embeddings" };

export interface PayingAccount {
  account: string;
  key: string;
}

/** The accounts that send requests, and where they send them. */
export interface LoadTestAccounts {
  /** Returns the port for the next request. */
  port: (chance: SeededRandom) => number;
  rich: PayingAccount[];
  poor: PayingAccount[];
  operatorCookie: string;
  hostToken: string;
}

interface Load {
  sights: readonly RequestObservation[];
  inFlight(): number;
  /** Returns how many requests were not sent because too many were in flight. */
  leftOut(): number;
  /** Sends no more requests, and waits for those in flight. */
  stop(): Promise<void>;
}

interface LoadOptions {
  customers: LoadTestAccounts;
  chance: SeededRandom;
  now: () => number;
}

export function startLoad({ customers, chance, now }: LoadOptions): Load {
  const sights: RequestObservation[] = [];
  const inFlight = new Set<Promise<void>>();
  let leftOut = 0;
  let cap = CAPS.least;
  const due = REQUEST_KINDS.map(({ perSecond }) => chance.next() / perSecond);
  const begunAt = now();
  const nextCap = (): number => {
    cap = cap < CAPS.most ? cap + 1 : CAPS.least;
    return cap;
  };

  const dispatch = (kind: RequestKind): void => {
    if (inFlight.size >= UNDER_WAY_MAX) {
      leftOut += 1;
      return;
    }
    const { errand, sending } = makeErrand(kind, { customers, chance, nextCap });
    const going = sendAndObserve(errand, sending, now)
      .then((sight) => void sights.push(sight))
      .finally(() => inFlight.delete(going));
    inFlight.add(going);
  };
  const ticking = setInterval(() => {
    const seconds = (now() - begunAt) / 1000;
    for (const [i, kind] of REQUEST_KINDS.entries()) {
      const at = due[i] as number;
      if (at > seconds) continue;
      dispatch(kind);
      // Missed requests are not made up for: a slow machine gets fewer requests.
      due[i] = Math.max(at + (0.5 + chance.next()) / kind.perSecond, seconds);
    }
  }, TICK_MS);
  return {
    sights,
    inFlight: () => inFlight.size,
    leftOut: () => leftOut,
    async stop() {
      clearInterval(ticking);
      await Promise.all(inFlight);
    },
  };
}

interface Making {
  customers: LoadTestAccounts;
  chance: SeededRandom;
  nextCap: () => number;
}

function makeErrand(
  kind: RequestKind,
  { customers, chance, nextCap }: Making,
): { errand: PlannedRequest; sending: OutgoingRequest } {
  const port = customers.port(chance);
  const order = kind.order?.(chance);
  if (order === undefined)
    return { errand: reading(kind.name), sending: { port, ...readingOf(kind, customers, chance) } };
  const { endpoint, model, stream, words, deltaMs, hangUpAfterMs = null, isPoor = false } = order;
  const payer = chance.pick(isPoor ? customers.poor : customers.rich);
  const text = makeRandomText(words, chance);
  // An account with little credit requests only as many tokens as it can pay for.
  const cap = endpoint === "embedding" ? null : isPoor ? words + 10 : nextCap();
  const script = `#script ${JSON.stringify({ text, delta_ms: deltaMs })}`;
  const body = {
    model,
    ...(endpoint === "chat" && { messages: [{ role: "user", content: script }] }),
    ...(endpoint === "completion" && { prompt: script }),
    ...(endpoint === "embedding" && { input: text }),
    ...(cap !== null && { max_tokens: cap }),
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
  };
  const headers = { authorization: `Bearer ${payer.key}`, "content-type": "application/json" };
  return {
    errand: {
      ...{ kind: kind.name, endpoint, account: payer.account, model, stream, cap, hangUpAfterMs, isPoor },
      text: endpoint === "embedding" ? "" : text,
    },
    sending: { port, method: "POST", path: PATHS[endpoint as keyof typeof PATHS], headers, body: JSON.stringify(body) },
  };
}

const reading = (kind: string): PlannedRequest => ({
  ...{ kind, endpoint: "reading", account: null, model: null, stream: false, cap: null },
  ...{ text: "", hangUpAfterMs: null, isPoor: false },
});

function readingOf(
  { read }: RequestKind,
  { rich, operatorCookie, hostToken }: LoadTestAccounts,
  chance: SeededRandom,
): Omit<OutgoingRequest, "port"> {
  const headers = {
    builder: { authorization: `Bearer ${chance.pick(rich).key}` },
    operator: { cookie: operatorCookie, "sec-fetch-site": "same-origin" },
    host: { authorization: `Bearer ${hostToken}` },
  };
  return { method: "GET", path: read?.path ?? "/", headers: headers[read?.as ?? "builder"] };
}
