/**
 * Sends events as signed webhooks until the receiver acknowledges them. Like the real provider, it sends them in any
 * order, with growing pauses, and with a new signature per attempt.
 */
import { createHmac } from "node:crypto";
import type { Clock } from "@tollgate/protocol/clock.ts";

const FIRST_PAUSE_MS = 200;
const PAUSE_MS_MAX = 30_000;
const ANSWER_MS_MAX = 20_000;

interface ProviderEvent {
  id: string;
  object: "event";
  api_version: string;
  created: number;
  data: { object: object };
  livemode: false;
  pending_webhooks: number;
  request: { id: null; idempotency_key: null };
  type: string;
}

export interface WebhookDelivery {
  event: ProviderEvent;
  attempts: number;
  /** The receiver's latest answer: a status, or the reason why there was none. Null before the first. */
  answer: string | null;
  acknowledged: boolean;
}

export class WebhookDeliveries {
  readonly #clock: Clock;
  readonly #secret: string;
  readonly #changed: () => void;
  readonly #closing = new AbortController();
  readonly #timers = new Set<() => void>();
  readonly #underWay = new Set<Promise<void>>();
  #url: string | undefined;
  readonly all: WebhookDelivery[];

  constructor(options: { clock: Clock; secret: string; earlier: WebhookDelivery[]; changed: () => void }) {
    this.#clock = options.clock;
    this.#secret = options.secret;
    this.#changed = options.changed;
    this.all = options.earlier;
  }

  /** Sets the URL for webhooks. Events that have not been acknowledged are sent there at once. */
  to(url: string): void {
    this.#url = url;
    for (const stop of this.#timers) stop();
    this.#timers.clear();
    for (const delivery of this.all) if (!delivery.acknowledged) this.#send(delivery);
  }

  add(event: ProviderEvent): void {
    const delivery: WebhookDelivery = { event, attempts: 0, answer: null, acknowledged: false };
    this.all.push(delivery);
    this.#send(delivery);
  }

  /** Sends an event once more, even if it was acknowledged. The real provider's dashboard can do this too. */
  again(delivery: WebhookDelivery): void {
    this.#send(delivery);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const stop of this.#timers) stop();
    await Promise.all(this.#underWay);
  }

  #send(delivery: WebhookDelivery): void {
    if (this.#url === undefined || this.#closing.signal.aborted) return;
    const sending = this.#attempt(delivery, this.#url).finally(() => this.#underWay.delete(sending));
    this.#underWay.add(sending);
  }

  async #attempt(delivery: WebhookDelivery, url: string): Promise<void> {
    delivery.attempts += 1;
    const body = JSON.stringify(delivery.event);
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(ANSWER_MS_MAX)]);
    const headers = { "content-type": "application/json; charset=utf-8", "stripe-signature": this.sign(body) };
    let acknowledged = false;
    try {
      const response = await fetch(url, { method: "POST", headers, body, signal });
      await response.body?.cancel();
      acknowledged = response.ok;
      delivery.answer = String(response.status);
    } catch (error) {
      // The receiver is unreachable. The next attempt is scheduled like after an error status.
      delivery.answer = error instanceof Error ? error.message : String(error);
    }
    delivery.acknowledged ||= acknowledged;
    if (!acknowledged) this.#laterAgain(delivery);
    this.#changed();
  }

  #laterAgain(delivery: WebhookDelivery): void {
    if (this.#closing.signal.aborted) return;
    const pauseMs = Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** (delivery.attempts - 1));
    const stop = this.#clock.after(pauseMs, () => {
      this.#timers.delete(stop);
      this.#send(delivery);
    });
    this.#timers.add(stop);
  }

  /** Makes the signature `t=…,v1=…`: an HMAC over the time and the body. */
  sign(body: string): string {
    const at = Math.floor(this.#clock.now() / 1000);
    return `t=${at},v1=${createHmac("sha256", this.#secret).update(`${at}.${body}`).digest("hex")}`;
  }
}
