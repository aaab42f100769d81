/**
 * Connected nodes indexed by model and output format, so that a request finds free nodes without scanning. Updating a node costs as
 * much as it has models, however many nodes there are.
 */
import { type Position, RandomSet } from "./random-set.ts";

/** What a request needs from a node. */
export interface NodeRequirements {
  model: string;
  /** The engine must enforce an output format. Absent: it need not. */
  formatted?: boolean;
  /** The JSON Schema keywords that the engine must enforce. Absent: none. */
  keywords?: readonly string[];
  /** Many of the node's answers must have been checked. Absent: no matter. */
  proven?: boolean;
}

interface Filed {
  models: ReadonlySet<string>;
  /** The models for which its engine enforces an output format. */
  formats: ReadonlySet<string>;
  slots: number;
  outstanding: number;
  draining: boolean;
  /** See `mayWork`. */
  inGoodStanding: boolean;
  acceptsEarly: boolean;
}

class NodeList<Node> {
  /** Busy or not. */
  readonly able = new RandomSet<Node>();
  readonly free = new RandomSet<Node>();
  /** The sum over all able nodes. */
  slots = 0;
  busy = 0;
}

/** The lists that a node is in, with the values that put it there. */
interface Place<Node> extends Omit<Filed, "draining" | "inGoodStanding" | "acceptsEarly"> {
  isOffered: boolean;
  positions: { list: NodeList<Node>; able: Position<Node>; free: Position<Node> | undefined }[];
}

export class NodeIndex<Node extends Filed> {
  readonly #plain = new Map<string, NodeList<Node>>();
  readonly #formatted = new Map<string, NodeList<Node>>();
  readonly #places = new Map<Node, Place<Node>>();

  /** The able nodes; undefined while there are none. */
  of({ model, formatted = false }: NodeRequirements): NodeList<Node> | undefined {
    return (formatted ? this.#formatted : this.#plain).get(model);
  }

  /** Files a new node, or one whose properties changed. */
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

  /** Moves the node to its lists, with none of its slots counted. */
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

/** The node has slots, and either may get the prompt with the offer or accepts offers without it. */
export const mayWork = (node: Pick<Filed, "slots" | "inGoodStanding" | "acceptsEarly">): boolean =>
  node.slots > 0 && (node.inGoodStanding || node.acceptsEarly);

/** The node is offered work at all. */
const isOffered = (node: Filed): boolean => !node.draining && mayWork(node);

function listIn<Node>(lists: Map<string, NodeList<Node>>, model: string): NodeList<Node> {
  const known = lists.get(model);
  if (known !== undefined) return known;
  const list = new NodeList<Node>();
  lists.set(model, list);
  return list;
}
