/**
 * What gateways tell each other. Every message is a sign of life of its sender, and each part may be missing: a later
 * version may add parts, items and fields, and what this one does not know it leaves alone. Times are the sender's own
 * monotonic milliseconds, beside the one at which it wrote: the difference is the same on every clock.
 */
import { z } from "zod";

/** Topic → node → items. Each topic reads its own. */
const Told = z.record(z.string(), z.record(z.string(), z.array(z.unknown())));
export type Told = z.infer<typeof Told>;

const PeerMessage = z.object({
  from: z.string().min(1).max(64),
  at: z.number(),
  /** It just came: those who are there say so. */
  hello: z.literal(true).optional(),
  /** It leaves. */
  bye: z.literal(true).optional(),
  /** Model → how many jobs the nodes that it is connected to can run at once. */
  slots: z.record(z.string(), z.number().nonnegative()).optional(),
  /** Node → how many jobs it has there; `whole`: and on no other. */
  work: z.object({ whole: z.boolean(), jobs: z.record(z.string(), z.number().int().nonnegative()) }).optional(),
  /** Nodes that it knows nothing of yet: what do the others hold of them? */
  ask: z.array(z.string()).optional(),
  /** What it saw since it last told. */
  news: Told.optional(),
  /** What it holds of the nodes that it was asked for. */
  held: Told.optional(),
});
export type PeerMessage = z.infer<typeof PeerMessage>;

/** The sender stands first, so that a gateway knows its own messages without reading them. */
export const writeMessage = ({ from, ...parts }: PeerMessage): Uint8Array =>
  Buffer.from(JSON.stringify({ from, ...parts }));

export const openingOf = (from: string): string => `{"from":${JSON.stringify(from)},`;

/** Undefined when it cannot be read. */
export function readMessage(payload: Uint8Array): PeerMessage | undefined {
  try {
    return PeerMessage.safeParse(JSON.parse(Buffer.from(payload).toString())).data;
  } catch {
    return undefined; // No JSON at all.
  }
}
