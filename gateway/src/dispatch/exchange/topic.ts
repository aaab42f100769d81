/** A kind of observation about nodes that gateways exchange. */
import type { z } from "zod";

export interface Topic<Item> {
  name: string;
  /** The most unsent items per node; older ones are dropped. */
  itemsMax: number;
  /** The form in which an item travels. Unknown fields belong to a later version. */
  item: z.ZodType<Item>;
  /**
   * Handles items from another gateway. `shiftMs` converts its monotonic times into ours. `isHeld`: the items answer our question with its
   * stored records; otherwise they are new.
   */
  hear(nodeId: string, items: Item[], how: { shiftMs: number; isHeld: boolean }): void;
  /** Our records of the node, for a gateway that asks. */
  held(nodeId: string): Item[];
}

export type Report<Item> = (nodeId: string, item: Item) => void;
