/** A topic: one kind of observation about nodes that gateways exchange. */
import type { z } from "zod";

export interface PeerTopic<Item> {
  name: string;
  /** The most unsent items per node. Beyond it, the oldest are dropped. */
  itemsMax: number;
  /** The schema of an item in messages. Unknown fields are allowed, because a later version may have added them. */
  item: z.ZodType<Item>;
  /**
   * Handles items from another gateway. Add `shiftMs` to its monotonic times to get this gateway's. `isHeld`: the items
   * are stored records that this gateway asked for; otherwise they are new.
   */
  hear(nodeId: string, items: Item[], how: { shiftMs: number; isHeld: boolean }): void;
  /** This gateway's records of the node, for a gateway that asks for them. */
  held(nodeId: string): Item[];
}

export type ReportItem<Item> = (nodeId: string, item: Item) => void;
