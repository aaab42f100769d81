/**
 * The messages between gateways. Every message also shows that its sender runs. All parts are optional, and unknown
 * parts, items and fields are ignored, so that later versions can add some. Times are the sender's monotonic
 * milliseconds. Each message has the time of writing, so that the receiver can convert times to its own clock.
 */
import { z } from "zod";
import type { AccountLoad, AccountLoadsByModel } from "./account-loads.ts";

/** The items by topic, then by node ID. Each topic has its own parser. */
export type PeerItemsByTopicAndNode = Record<string, Record<string, unknown[]>>;

// Busy gateways send each other thousands of these values a second, so they are checked without a schema for each.
const isRecordOf =
  <T>(isValue: (value: unknown) => value is T) =>
  (told: unknown): told is Record<string, T> =>
    typeof told === "object" && told !== null && !Array.isArray(told) && Object.values(told).every(isValue);
const isList = (told: unknown): told is unknown[] => Array.isArray(told);
const isCount = (told: unknown): told is number => Number.isSafeInteger(told) && (told as number) >= 0;

const isLoad = (told: unknown): told is AccountLoad => Array.isArray(told) && told.length === 2 && told.every(isCount);

const Items = z.custom<PeerItemsByTopicAndNode>(isRecordOf(isRecordOf(isList)));
const JobsByNode = z.custom<Record<string, number>>(isRecordOf(isCount));

const PeerMessage = z.object({
  from: z.string().min(1).max(64),
  at: z.number(),
  /** The sender has just started, and asks the other gateways for their state. */
  hello: z.literal(true).optional(),
  /** The sender is stopping. */
  bye: z.literal(true).optional(),
  /** By model: how many jobs the nodes connected to the sender can run at once. */
  slots: z.record(z.string(), z.number().nonnegative()).optional(),
  /** By node ID: the number of the sender's jobs on it. `whole`: the sender has no jobs on other nodes. */
  work: z.object({ whole: z.boolean(), jobs: JobsByNode }).optional(),
  /**
   * By model and account: the sender's requests. `whole`: accounts that are not listed have no requests at the sender.
   */
  accounts: z
    .object({ whole: z.boolean(), loads: z.custom<AccountLoadsByModel>(isRecordOf(isRecordOf(isLoad))) })
    .optional(),
  /** IDs of nodes of which the sender has no records. The other gateways answer with their records of these nodes. */
  ask: z.array(z.string()).optional(),
  /** The sender's observations since its previous message. */
  news: Items.optional(),
  /** The sender's records of the nodes that another gateway asked for. */
  held: Items.optional(),
});
export type PeerMessage = z.infer<typeof PeerMessage>;

/** The field `from` is written first, so that a gateway recognizes its own messages without parsing them. */
export const serializePeerMessage = ({ from, ...parts }: PeerMessage): Uint8Array =>
  Buffer.from(JSON.stringify({ from, ...parts }));

export const peerMessagePrefix = (from: string): string => `{"from":${JSON.stringify(from)},`;

/** Parses a message; undefined if it is invalid. */
export function parsePeerMessage(payload: Uint8Array): PeerMessage | undefined {
  try {
    return PeerMessage.safeParse(JSON.parse(Buffer.from(payload).toString())).data;
  } catch {
    return undefined; // Not JSON.
  }
}
