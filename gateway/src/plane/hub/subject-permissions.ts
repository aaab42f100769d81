/**
 * Checks operations against a connection's credential. Each function returns undefined if the operation is allowed, or
 * else a refusal in nats-server's wording.
 */
import type { Claims } from "../credentials/user-jwt.ts";
import { isPattern, isSubject, patternCovers } from "../subject-patterns.ts";

export interface SubscribeRequest {
  pattern: string;
  queue: string | undefined;
  sid: string;
}

const SID_CHARS_MAX = 64;

export function explainPublishRefusal({ permissions }: Claims, subject: string): string | undefined {
  if (!isSubject(subject)) return "Invalid Publish Subject";
  if (isCovered(permissions.publish, subject)) return undefined;
  return `Permissions Violation for Publish to "${subject}"`;
}

export function explainSubscribeRefusal(
  { permissions }: Claims,
  { pattern, queue, sid }: SubscribeRequest,
): string | undefined {
  if (!isPattern(pattern)) return "Invalid Subject";
  if (!isCovered(permissions.subscribe, pattern)) {
    const asQueue = queue === undefined ? "" : ` using queue "${queue}"`;
    return `Permissions Violation for Subscription to "${pattern}"${asQueue}`;
  }
  // The hub would deliver to every member of a queue group, which is wrong and would show no error.
  if (queue !== undefined) return "Queue Subscriptions Not Supported";
  if (sid.length > SID_CHARS_MAX) return "Invalid Subscription Identifier";
  return undefined;
}

function isCovered(allowed: string[], subject: string): boolean {
  return allowed.some((pattern) => patternCovers(pattern, subject));
}
