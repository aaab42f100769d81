/** Something that gateways see of nodes and tell each other. */
import type { z } from "zod";

export interface Topic<Item> {
  name: string;
  /** So many of one node matter: of those that wait to be told, older ones are left out. */
  itemsMax: number;
  /** As an item travels. Fields that it does not name are a later version's. */
  item: z.ZodType<Item>;
  /**
   * Another gateway told of these. `shiftMs` turns its monotonic times into ours. `isHeld`: it is what it holds of the node
   * by now, because we asked; otherwise it is new.
   */
  hear(nodeId: string, items: Item[], how: { shiftMs: number; isHeld: boolean }): void;
  /** What we hold of the node, for one that asks. */
  held(nodeId: string): Item[];
}

export type Tell<Item> = (nodeId: string, item: Item) => void;
