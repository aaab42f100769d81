/**
 * The messages between gateways. Every message is a sign of life of its sender. All parts are optional, and unknown parts, items and fields
 * are ignored, so later versions may add some. Times are the sender's monotonic milliseconds, sent with the time of writing: the difference
 * is valid on every clock.
 */
import { z } from "zod";

/** Topic → node → items. Each topic has its own reader. */
const ReportedItems = z.record(z.string(), z.record(z.string(), z.array(z.unknown())));
export type ReportedItems = z.infer<typeof ReportedItems>;

const PeerMessage = z.object({
  from: z.string().min(1).max(64),
  at: z.number(),
  /** The sender just started; the others introduce themselves. */
  hello: z.literal(true).optional(),
  /** The sender is leaving. */
  bye: z.literal(true).optional(),
  /** Model → how many jobs the sender's connected nodes can run at once. */
  slots: z.record(z.string(), z.number().nonnegative()).optional(),
  /** Node → the sender's jobs on it. `whole`: and none on any other node. */
  work: z.object({ whole: z.boolean(), jobs: z.record(z.string(), z.number().int().nonnegative()) }).optional(),
  /** Nodes that the sender has no records of; the others answer with theirs. */
  ask: z.array(z.string()).optional(),
  /** What the sender saw since its previous message. */
  news: ReportedItems.optional(),
  /** The sender's records of the nodes that it was asked about. */
  held: ReportedItems.optional(),
});
export type PeerMessage = z.infer<typeof PeerMessage>;

/** The sender comes first, so that a gateway recognises its own messages without parsing them. */
export const writeMessage = ({ from, ...parts }: PeerMessage): Uint8Array =>
  Buffer.from(JSON.stringify({ from, ...parts }));

export const openingOf = (from: string): string => `{"from":${JSON.stringify(from)},`;

/** Returns undefined for a message that cannot be read. */
export function readMessage(payload: Uint8Array): PeerMessage | undefined {
  try {
    return PeerMessage.safeParse(JSON.parse(Buffer.from(payload).toString())).data;
  } catch {
    return undefined; // Not JSON.
  }
}
