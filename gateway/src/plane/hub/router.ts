/** Finds the subscribers of a subject, without sockets or permissions. */
import { invariant } from "../../base/invariant.ts";
import { covers, hasWildcard, isPattern } from "../subjects-match.ts";

type Deliver = (subject: string, payload: Uint8Array, rest?: Uint8Array) => void;

export interface Router {
  /** Returns the function that unsubscribes. */
  add(pattern: string, deliver: Deliver): () => void;
  /** Delivers in order of subscription, except to subscribers that were removed meanwhile. */
  route(subject: string, payload: Uint8Array, rest?: Uint8Array): void;
}

interface Subscription {
  pattern: string;
  deliver: Deliver;
}

/**
 * Plain subjects are looked up, wildcards are tried one by one: nodes subscribe to plain subjects only (their credentials allow no others),
 * and a gateway has few wildcards.
 */
export function createRouter(): Router {
  const plain = new Map<string, Set<Subscription>>();
  const wildcards = new Set<Subscription>();

  return {
    add(pattern, deliver) {
      invariant(isPattern(pattern), "a subscription names a well-formed pattern");
      const subscription = { pattern, deliver };
      if (hasWildcard(pattern)) {
        wildcards.add(subscription);
        return () => {
          wildcards.delete(subscription);
        };
      }
      const peers = plain.get(pattern) ?? new Set();
      plain.set(pattern, peers.add(subscription));
      return () => {
        peers.delete(subscription);
        if (peers.size === 0 && plain.get(pattern) === peers) plain.delete(pattern);
      };
    },

    // Deliveries may subscribe and unsubscribe. A Set skips deleted entries, and the count stops an endless loop when a subscriber
    // subscribes again during its delivery.
    route(subject, payload, rest) {
      const peers = plain.get(subject);
      if (peers !== undefined) deliverTo(peers, subject, payload, rest);
      deliverTo(wildcards, subject, payload, rest);
    },
  };
}

function deliverTo(
  subscriptions: Set<Subscription>,
  subject: string,
  payload: Uint8Array,
  rest: Uint8Array | undefined,
): void {
  let present = subscriptions.size;
  for (const { pattern, deliver } of subscriptions) {
    if (present-- === 0) return;
    if (covers(pattern, subject)) deliver(subject, payload, rest);
  }
}
