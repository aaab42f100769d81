/** Workers that call randomly chosen gateways, one operation after the other, and record every response. */
import { createHmac } from "node:crypto";
import { sendAndObserve } from "@tollgate/stage/load/client.ts";
import type { RequestObservation } from "@tollgate/stage/load/observation.ts";
import { makeRandomText } from "@tollgate/stage/load/request-kinds.ts";
import type { SeededRandom } from "@tollgate/stage/seeded-random.ts";
import { systemClock } from "../../gateway/src/base/clock.ts";
import { newIds, publicId } from "../../gateway/src/base/ids.ts";
import { systemRandom } from "../../gateway/src/base/random.ts";
import { type CallerAccount, type CallerKey, type Callers, consoleHeaders } from "./callers.ts";
import type { BalanceCall, BudgetCall, CreditCall, History } from "./recorded-calls.ts";
import { MODEL, type ThreeGatewayStage, WEBHOOK_SECRET } from "./three-gateway-stage.ts";

const CHATTERS = 14;
const PAUSE_MS = { least: 10, most: 250 };
/** The pause in milliseconds between two calls of the workers that raise the budget, add credit or read balances. */
const SELDOM_MS = { least: 150, most: 900 };
const CAPS = { least: 200, most: 7_000 };
const PATIENCE_MS = 60_000;
const PICO_PER_MICRO = 1_000_000n;
const CENT = 10_000n * PICO_PER_MICRO;
const RICH_MICRO = 900_000_000n;
const CHECKOUTS = 2_000;

export interface CallRecordingWorkers {
  readonly history: History;
  /** The number of acknowledged calls. */
  acknowledged(): number;
  /**
   * Stops making calls and waits for those in flight. Events of purchases are repeated until a gateway has accepted
   * them.
   */
  stop(): Promise<void>;
}

interface CallsOptions {
  stage: ThreeGatewayStage;
  people: Callers;
  chance: SeededRandom;
  now: () => number;
  /** Called once every account has credit, before the workers begin. */
  prepared: () => Promise<void>;
}

const newId = newIds(systemClock, systemRandom());

export async function startWorkers({
  stage,
  people,
  chance,
  now,
  prepared,
}: CallsOptions): Promise<CallRecordingWorkers> {
  const { accounts, cookie, budgeted } = people;
  const [chats, credits, budgets, balances] = [[], [], [], []] as [
    RequestObservation[],
    CreditCall[],
    BudgetCall[],
    BalanceCall[],
  ];
  const checkouts = await openCheckouts(stage, accounts);
  let isOver = false;
  let acknowledged = 0;
  let cap = CAPS.least;
  let budget = 0n;

  const port = (by: SeededRandom): number => by.pick(stage.gateways).port;
  const call = async (method: string, path: string, headers: Record<string, string>, body?: string) => {
    const calledAt = now();
    const answer = await reach(`http://127.0.0.1:${path}`, { method, headers, ...(body !== undefined && { body }) });
    return { calledAt, returnedAt: now(), ...answer };
  };
  const noted = <T extends { outcome: string }>(list: T[], done: T): void => {
    list.push(done);
    if (done.outcome === "done") acknowledged += 1;
  };

  const chat = async (by: SeededRandom): Promise<void> => {
    const account = by.pick(accounts);
    const key = account === accounts[0] && by.oneIn(2) ? budgeted : account.key;
    const isPoor = account.isTight || key === budgeted;
    cap = cap < CAPS.most ? cap + 1 : CAPS.least;
    const sight = await chatOnce({ account, key, isPoor, cap, by, port: port(by), now });
    chats.push(sight);
    if (sight.end === "complete") acknowledged += 1;
  };
  const grant = async (account: CallerAccount, micro: bigint, by: SeededRandom): Promise<CreditCall["outcome"]> => {
    const mark = `grant ${newId()}`;
    const path = `${port(by)}/console/api/operator/accounts/${account.name}/grant`;
    const body = JSON.stringify({ amount_micro: String(micro), reason: mark });
    const { calledAt, returnedAt, outcome } = await call("POST", path, consoleHeaders(cookie), body);
    const amount = micro * PICO_PER_MICRO;
    noted(credits, { kind: "grant", account: account.id, amount, mark, calledAt, returnedAt, outcome });
    return outcome;
  };
  /** Sends the purchase's event to two gateways at once, and repeats it until one has accepted it. */
  const purchase = async (by: SeededRandom): Promise<void> => {
    const checkout = checkouts.pop();
    if (checkout === undefined) return;
    const body = paidEvent(checkout.id);
    const calledAt = now();
    const tell = () => call("POST", `${port(by)}/webhooks/stripe`, signed(body), body);
    for (;;) {
      const answers = await Promise.all([tell(), tell()]);
      const outcome = answers.find((one) => one.outcome !== "unknown")?.outcome;
      if (outcome === undefined) {
        await pause(PAUSE_MS.most);
        continue;
      }
      const { id: mark, account } = checkout;
      noted(credits, { kind: "purchase", account, amount: CENT, mark, calledAt, returnedAt: now(), outcome });
      return;
    }
  };
  const raiseBudget = async (by: SeededRandom): Promise<void> => {
    budget += BigInt(by.between(5, 20));
    const path = `${port(by)}/console/api/keys/${budgeted.name}`;
    const body = JSON.stringify({ budget_day_micro: String(budget) });
    const headers = consoleHeaders(cookie, accounts[0]?.name);
    const { calledAt, returnedAt, outcome } = await call("PATCH", path, headers, body);
    noted(budgets, { key: budgeted.id, dayMax: budget * PICO_PER_MICRO, calledAt, returnedAt, outcome });
  };
  const read = async (by: SeededRandom): Promise<void> => {
    const { id, name } = by.pick(accounts);
    const path = `${port(by)}/console/api/operator/accounts/${name}`;
    const { calledAt, returnedAt, outcome, text } = await call("GET", path, consoleHeaders(cookie));
    const found = outcome === "done" ? balanceIn(text) : null;
    noted(balances, { account: id, calledAt, returnedAt, outcome, found });
  };

  // Every account gets credit, and the budgeted key its first budget, before the first fault.
  for (const account of accounts) await grant(account, account.isTight ? 20n : RICH_MICRO, chance);
  await raiseBudget(chance);
  const wrong = [...credits, ...budgets].find(({ outcome }) => outcome !== "done");
  if (wrong !== undefined) throw new Error(`the first credit was not taken: ${JSON.stringify(wrong, String)}`);
  await prepared();

  const work = async (
    by: SeededRandom,
    { least, most }: typeof PAUSE_MS,
    act: (by: SeededRandom) => Promise<unknown>,
  ) => {
    while (!isOver) {
      const before = acknowledged;
      await act(by);
      // While no call is acknowledged, workers pause three times as long.
      await pause(by.between(least, most) * (acknowledged === before ? 3 : 1));
    }
  };
  const tight = accounts.filter(({ isTight }) => isTight);
  const workers = [
    ...Array.from({ length: CHATTERS }, (_, i) => work(chance.of(`chatter ${i}`), PAUSE_MS, chat)),
    ...[1, 2].map((i) =>
      work(chance.of(`granter ${i}`), SELDOM_MS, (by) => grant(by.pick(tight), BigInt(by.between(1, 8)), by)),
    ),
    work(chance.of("grants for all"), SELDOM_MS, (by) => grant(by.pick(accounts), 1n, by)),
    ...[1, 2].map((i) => work(chance.of(`provider ${i}`), SELDOM_MS, purchase)),
    work(chance.of("budgets"), SELDOM_MS, raiseBudget),
    ...[1, 2].map((i) => work(chance.of(`reader ${i}`), SELDOM_MS, read)),
  ];
  return {
    history: { chats, credits, budgets, balances },
    acknowledged: () => acknowledged,
    async stop() {
      isOver = true;
      await Promise.all(workers);
    },
  };
}

interface Chatting {
  account: CallerAccount;
  key: CallerKey;
  isPoor: boolean;
  cap: number;
  by: SeededRandom;
  port: number;
  now: () => number;
}

function chatOnce({ account, key, isPoor, cap: wide, by, port, now }: Chatting): Promise<RequestObservation> {
  const words = by.between(2, 30);
  const [text, stream] = [makeRandomText(words, by), by.oneIn(2)];
  // An account with little credit requests only as many tokens as it can pay for.
  const cap = isPoor ? words + by.between(1, 20) : wide;
  const body = {
    model: MODEL,
    messages: [{ role: "user", content: `#script ${JSON.stringify({ text, delta_ms: by.pick([1, 5, 40]) })}` }],
    max_tokens: cap,
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
  };
  const hangUpAfterMs = by.oneIn(12) ? by.between(20, 800) : null;
  const errand = { kind: stream ? "stream" : "chat", endpoint: "chat", account: account.id, model: MODEL } as const;
  const headers = { authorization: `Bearer ${key.secret}`, "content-type": "application/json" };
  return sendAndObserve(
    { ...errand, stream, cap, text, hangUpAfterMs, isPoor },
    { port, method: "POST", path: "/v1/chat/completions", headers, body: JSON.stringify(body) },
    now,
  );
}

/**
 * Inserts checkouts directly into the database, so that only their payment events are missing. Accounts with little
 * credit get none.
 */
async function openCheckouts({ query }: ThreeGatewayStage, accounts: readonly CallerAccount[]) {
  const rich = accounts.filter(({ isTight }) => !isTight);
  const checkouts = Array.from({ length: CHECKOUTS }, (_, i) => ({
    id: newId() as string,
    account: (rich[i % rich.length] as CallerAccount).id,
  }));
  await query(
    `insert into payment_checkout (id, account_id, pack, amount, live, provider_session)
     select o.id, o.account, 'custom', $3, false, 'cs_' || o.id from unnest($1::uuid[], $2::uuid[]) as o (id, account)`,
    [checkouts.map(({ id }) => id), checkouts.map(({ account }) => account), String(CENT)],
  );
  return checkouts;
}

function paidEvent(checkout: string): string {
  const object = {
    ...{ id: `cs_${checkout}`, object: "checkout.session", mode: "payment", livemode: false },
    ...{ client_reference_id: publicId("pay", checkout as Parameters<typeof publicId>[1]) },
    ...{ payment_intent: `pi_${checkout}`, payment_status: "paid", amount_total: 1, currency: "usd" },
  };
  const event = { object: "event", id: `evt_${checkout}`, type: "checkout.session.completed", livemode: false };
  return JSON.stringify({ ...event, created: Math.floor(Date.now() / 1000), data: { object } });
}

function signed(body: string): Record<string, string> {
  const at = Math.floor(Date.now() / 1000);
  const mac = createHmac("sha256", WEBHOOK_SECRET).update(`${at}.${body}`).digest("hex");
  return { "content-type": "application/json", "stripe-signature": `t=${at},v1=${mac}` };
}

async function reach(
  url: string,
  init: RequestInit,
): Promise<{ outcome: "done" | "refused" | "unknown"; text: string }> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) });
    const text = await response.text();
    if (response.ok) return { outcome: "done", text };
    return { outcome: response.status < 500 ? "refused" : "unknown", text };
  } catch (error) {
    return { outcome: "unknown", text: String(error) };
  }
}

function balanceIn(text: string): BalanceCall["found"] {
  const { balance_micro, held_micro } = JSON.parse(text) as { balance_micro: string; held_micro: string };
  const pico = (micro: string): bigint => BigInt(micro.replace(".", ""));
  return { balance: pico(balance_micro), held: pico(held_micro) };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
