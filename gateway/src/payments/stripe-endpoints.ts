/**
 * Reads where Stripe sends events, for `tollgate doctor`, which cannot check an endpoint's signing secret: Stripe does
 * not return it.
 */
import { stripeClient } from "./stripe-client.ts";

const CALL_MS_MAX = 10_000;
const ENDPOINTS_MAX = 100;

export interface StripeEndpoint {
  url: string;
  /** `enabled` or `disabled`. */
  status: string;
  /** Event types, or `*` for all. */
  events: string[];
}

/** Rejects with the library's error, whose `statusCode` says whether Stripe refused the key. */
export async function listStripeEndpoints(options: {
  secretKey: string;
  apiBase: string | undefined;
}): Promise<StripeEndpoint[]> {
  const stripe = stripeClient({ ...options, callMsMax: CALL_MS_MAX });
  const { data } = await stripe.webhookEndpoints.list({ limit: ENDPOINTS_MAX });
  return data.map(({ url, status, enabled_events: events }) => ({ url, status, events }));
}
