/**
 * Additional load for the recorded platform that chaos tests must not have: clients with invalid, frequent or too large
 * requests, failing engines, and payment events. They give every panel data.
 */
import type { PayingAccount } from "@tollgate/stage/load/load.ts";
import { runAdminJson } from "../../chaos/stage/admin-commands.ts";
import type { Stage } from "../../chaos/stage/stage.ts";
import { makeStripeEvent, sendStripeEvent } from "../../e2e/outside/stripe-mock.ts";

const CROWD = 120;

interface Asked {
  key: string;
  model?: string;
  /** Instructions for the scripted engine. */
  script?: object;
  maxTokens?: number;
}

export interface ExtraLoad {
  /** Sends more requests at once than the fleet has slots for; resolves when all are answered. */
  crowd(): Promise<void>;
  stop(): Promise<void>;
}

export async function startExtraLoad(stage: Stage): Promise<ExtraLoad> {
  const { url } = stage.balancer;
  const { key: rich } = stage.customers.rich[0] as PayingAccount;
  const hasty = await openHasty(stage);
  const chat = ({ key, model = "tiny-3b", script = {}, maxTokens = 200 }: Asked): Promise<void> =>
    send(`${url}/v1/chat/completions`, key, {
      model,
      max_tokens: maxTokens,
      messages: [{ role: "user", content: `#script ${JSON.stringify(script)}` }],
    });
  const webhook = `${url}/webhooks/stripe`;
  const kinds: [perSecond: number, once: () => Promise<unknown>][] = [
    [0.4, () => chat({ key: "tsk_live_nobody" })],
    [0.3, () => chat({ key: rich, model: "no-such-model" })],
    [0.3, () => chat({ key: rich, maxTokens: -1 })],
    [0.2, () => chat({ key: rich, script: { text: "time people water", fail_after: 1 } })],
    [1, () => chat({ key: hasty, script: { text: "time people" } })],
    [0.3, () => sendStripeEvent(webhook, makeStripeEvent("customer.created", {}))],
    [0.1, () => send(webhook, "nobody", {})],
    [0.2, () => fetch(`${url}/nowhere`).then((answer) => answer.text())],
  ];
  const underWay = new Set<Promise<unknown>>();
  const begin = (what: () => Promise<unknown>): void => {
    // Requests to a gateway that is killed may fail; the failures appear in the metrics.
    const going = what()
      .catch(() => undefined)
      .finally(() => underWay.delete(going));
    underWay.add(going);
  };
  const ticking = kinds.map(([perSecond, once]) => setInterval(() => begin(once), 1000 / perSecond));
  return {
    async crowd() {
      const script = { text: "time ".repeat(100).trim(), delta_ms: 100 };
      const one = (): Promise<void> => chat({ key: rich, script, maxTokens: 1000 });
      await Promise.allSettled(Array.from({ length: CROWD }, one));
    },
    async stop() {
      for (const timer of ticking) clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}

/** Opens an account and returns its key, which is limited to fewer requests than the load sends. */
async function openHasty({ admin }: Stage): Promise<string> {
  const { id } = await runAdminJson<{ id: string }>(admin, ["account", "open", "builder", "a hasty builder"]);
  await runAdminJson(admin, ["grant", id, "--usd", "10", "--reason", "to begin with"]);
  const key = await runAdminJson<{ id: string; secret: string }>(admin, ["key", "create", id, "a key"]);
  await runAdminJson(admin, ["key", "limits", key.id, "--requests-per-minute", "20"]);
  return key.secret;
}

async function send(to: string, key: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const answer = await fetch(to, { method: "POST", headers, body: JSON.stringify(body) });
  await answer.text();
}
