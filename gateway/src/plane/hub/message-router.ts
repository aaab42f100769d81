/** Finds the subscribers of a subject. Independent of sockets and permissions. */
import { invariant } from "../../base/invariant.ts";
import { hasWildcard, isPattern, patternCovers } from "../subject-patterns.ts";

type Deliver = (subject: string, payload: Uint8Array, rest?: Uint8Array) => void;

export interface MessageRouter {
  /** Adds a subscription. Returns a function that removes it. */
  add(pattern: string, deliver: Deliver): () => void;
  /** Delivers a message, to subscribers of plain subjects first. Skips subscribers that are removed during the delivery. */
  route(subject: string, payload: Uint8Array, rest?: Uint8Array): void;
}

interface Subscription {
  pattern: string;
  deliver: Deliver;
}

/**
 * Looks up plain subjects, and patterns whose only wildcard is a `*` at the end, in maps. With several worker processes
 * there are two such patterns for each, so trying all would make every message more expensive with each worker. Other
 * patterns are tried one by one.
 */
export function createMessageRouter(): MessageRouter {
  const plain = new Map<string, Set<Subscription>>();
  /** By the part of the pattern before `.*`. */
  const parents = new Map<string, Set<Subscription>>();
  const others = new Set<Subscription>();

  const put = (into: Map<string, Set<Subscription>>, key: string, subscription: Subscription): (() => void) => {
    const peers = into.get(key) ?? new Set();
    into.set(key, peers.add(subscription));
    return () => {
      peers.delete(subscription);
      if (peers.size === 0 && into.get(key) === peers) into.delete(key);
    };
  };

  return {
    add(pattern, deliver) {
      invariant(isPattern(pattern), "a subscription names a well-formed pattern");
      const subscription = { pattern, deliver };
      if (!hasWildcard(pattern)) return put(plain, pattern, subscription);
      const parent = parentOf(pattern);
      if (pattern.endsWith(".*") && !hasWildcard(parent)) return put(parents, parent, subscription);
      others.add(subscription);
      return () => {
        others.delete(subscription);
      };
    },

    route(subject, payload, rest) {
      deliverTo(plain.get(subject), subject, payload, rest);
      deliverTo(parents.get(parentOf(subject)), subject, payload, rest);
      if (others.size > 0) deliverTo(others, subject, payload, rest);
    },
  };
}

/** The subject without its last token; empty if it has only one. */
const parentOf = (subject: string): string => subject.slice(0, Math.max(0, subject.lastIndexOf(".")));

/**
 * A subscriber may subscribe and unsubscribe during its delivery. A Set skips deleted entries. The count prevents an
 * endless loop when a subscriber subscribes again.
 */
function deliverTo(
  subscriptions: Set<Subscription> | undefined,
  subject: string,
  payload: Uint8Array,
  rest: Uint8Array | undefined,
): void {
  if (subscriptions === undefined) return;
  let present = subscriptions.size;
  for (const { pattern, deliver } of subscriptions) {
    if (present-- === 0) return;
    if (patternCovers(pattern, subject)) deliver(subject, payload, rest);
  }
}
