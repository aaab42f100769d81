/** Finds the subscribers of a subject. Independent of sockets and permissions. */
import { invariant } from "../../base/invariant.ts";
import { hasWildcard, isPattern, patternCovers } from "../subject-patterns.ts";

type Deliver = (subject: string, payload: Uint8Array, rest?: Uint8Array) => void;

export interface MessageRouter {
  /** Adds a subscription. Returns a function that removes it. */
  add(pattern: string, deliver: Deliver): () => void;
  /** Delivers a message in order of subscription. Skips subscribers that are removed during the delivery. */
  route(subject: string, payload: Uint8Array, rest?: Uint8Array): void;
}

interface Subscription {
  pattern: string;
  deliver: Deliver;
}

/**
 * Looks up plain subjects in a map and tries wildcards one by one. Nodes subscribe to plain subjects only (their
 * credentials allow no others), and a gateway has few wildcards.
 */
export function createMessageRouter(): MessageRouter {
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

    // A subscriber may subscribe and unsubscribe during its delivery. A Set skips deleted entries. The count prevents
    // an endless loop when a subscriber subscribes again.
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
    if (patternCovers(pattern, subject)) deliver(subject, payload, rest);
  }
}
