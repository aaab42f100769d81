/** A topic: one kind of observation about nodes that gateways exchange. */
export interface PeerTopic<Item> {
  name: string;
  /** The most unsent items per node. Beyond it, the oldest are dropped. */
  itemsMax: number;
  /**
   * Checks an item of a message; undefined if it is invalid. Unknown fields are allowed, because a later version may have
   * added them. Gateways send each other thousands of items a second, so this must be fast.
   */
  parse(told: unknown): Item | undefined;
  /**
   * Handles items from another gateway. Add `shiftMs` to its monotonic times to get this gateway's. `isHeld`: the items
   * are stored records that this gateway asked for; otherwise they are new.
   */
  hear(nodeId: string, items: Item[], how: { shiftMs: number; isHeld: boolean }): void;
  /** This gateway's records of the node, for a gateway that asks for them. */
  held(nodeId: string): Item[];
}

export type ReportItem<Item> = (nodeId: string, item: Item) => void;
