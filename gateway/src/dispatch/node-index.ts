/**
 * An index of connected nodes by model and output format, so that a free node is found without a scan. The cost of an
 * update depends on the node's number of models, not on the number of nodes.
 */
import { RandomSet, type RandomSetPosition } from "./random-set.ts";

/** The properties that a request requires of a node. */
export interface RequiredNodeProperties {
  model: string;
  /** Whether the engine must enforce an output format. Undefined: no. */
  formatted?: boolean;
  /** The JSON Schema keywords that the engine must enforce. Undefined: none. */
  keywords?: readonly string[];
  /** Whether many of the node's answers must have been spot-checked. Undefined: no. */
  proven?: boolean;
}

interface Filed {
  models: ReadonlySet<string>;
  /** The models for which the node's engine enforces an output format. */
  formats: ReadonlySet<string>;
  slots: number;
  outstanding: number;
  draining: boolean;
  /** Whether the node is trusted with the prompt in the offer. */
  inGoodStanding: boolean;
  /** Whether the node accepts offers without the prompt. */
  acceptsEarly: boolean;
}

class NodeList<Node> {
  /** All nodes that can serve the request, busy or free. */
  readonly able = new RandomSet<Node>();
  readonly free = new RandomSet<Node>();
  /** The slots of all nodes in `able`, used or free. */
  slots = 0;
  busy = 0;
}

/** The lists in which a node is, and the values by which it was put there. */
interface Place<Node> extends Omit<Filed, "draining" | "inGoodStanding" | "acceptsEarly"> {
  isOffered: boolean;
  positions: { list: NodeList<Node>; able: RandomSetPosition<Node>; free: RandomSetPosition<Node> | undefined }[];
}

export class NodeIndex<Node extends Filed> {
  readonly #plain = new Map<string, NodeList<Node>>();
  readonly #formatted = new Map<string, NodeList<Node>>();
  readonly #places = new Map<Node, Place<Node>>();

  /** The nodes that meet the requirements; undefined if there are none. */
  of({ model, formatted = false }: RequiredNodeProperties): NodeList<Node> | undefined {
    return (formatted ? this.#formatted : this.#plain).get(model);
  }

  /** Adds a node to the index, or updates a node whose properties changed. */
  file(node: Node): void {
    const { models, formats, slots, outstanding } = node;
    const known = this.#places.get(node);
    const stays = known?.models === models && known.formats === formats && known.isOffered === isOffered(node);
    const place = stays ? known : this.#move(node);
    const isFree = outstanding < slots;
    for (const position of place.positions) {
      const { list, free } = position;
      list.slots += slots - place.slots;
      list.busy += outstanding - place.outstanding;
      if (isFree) position.free = free ?? list.free.add(node);
      else if (free !== undefined) {
        list.free.delete(free);
        position.free = undefined;
      }
    }
    place.slots = slots;
    place.outstanding = outstanding;
  }

  remove(node: Node): void {
    const place = this.#places.get(node);
    if (place === undefined) return;
    this.#places.delete(node);
    for (const { list, able, free } of place.positions) {
      list.able.delete(able);
      if (free !== undefined) list.free.delete(free);
      list.slots -= place.slots;
      list.busy -= place.outstanding;
    }
    for (const model of place.models) {
      for (const lists of [this.#plain, this.#formatted]) if (lists.get(model)?.able.size === 0) lists.delete(model);
    }
  }

  /** Moves the node to the lists for its current properties. Its slots are counted later. */
  #move(node: Node): Place<Node> {
    this.remove(node);
    const { models, formats } = node;
    const positions = this.#listsOf(node).map((list) => ({ list, able: list.able.add(node), free: undefined }));
    const place = { positions, models, formats, isOffered: isOffered(node), slots: 0, outstanding: 0 };
    this.#places.set(node, place);
    return place;
  }

  #listsOf(node: Node): NodeList<Node>[] {
    const { models, formats } = node;
    if (!isOffered(node)) return [];
    return [...models].flatMap((model) => [
      listIn(this.#plain, model),
      ...(formats.has(model) ? [listIn(this.#formatted, model)] : []),
    ]);
  }
}

/**
 * Whether the node may get requests: it has slots, and is either trusted with the prompt in the offer, or accepts
 * offers without it.
 */
export const mayReceiveRequests = (node: Pick<Filed, "slots" | "inGoodStanding" | "acceptsEarly">): boolean =>
  node.slots > 0 && (node.inGoodStanding || node.acceptsEarly);

/** Whether the node gets offers at all. */
const isOffered = (node: Filed): boolean => !node.draining && mayReceiveRequests(node);

function listIn<Node>(lists: Map<string, NodeList<Node>>, model: string): NodeList<Node> {
  const known = lists.get(model);
  if (known !== undefined) return known;
  const list = new NodeList<Node>();
  lists.set(model, list);
  return list;
}
