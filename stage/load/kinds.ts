/**
 * The mix: what clients ask for, and how often. Together about twenty requests a second, with as many in flight, which two
 * cores carry with ease: faults are to be seen, not load.
 */
import type { Chance } from "../chance.ts";
import type { Errand } from "./sight.ts";

export interface Kind {
  name: string;
  perSecond: number;
  /** Takes so long that no one waits for one to see whether all is well again. */
  isLong?: boolean;
  /** Undefined: nothing to order, the path is read. */
  order?: (chance: Chance) => Order;
  /** Who reads what, where nothing is ordered. */
  read?: { as: "builder" | "operator" | "host"; path: string };
}

interface Order extends Pick<Errand, "endpoint" | "stream"> {
  model: string;
  words: number;
  /** The engine's pace. */
  deltaMs: number;
  hangUpAfterMs?: number;
  isPoor?: boolean;
}

const CHAT = { endpoint: "chat", model: "tiny-3b", stream: false, deltaMs: 5 } as const;
const STREAM = { ...CHAT, stream: true } as const;
const OTHER_MODEL = "small-7b-alt";

export const KINDS: Kind[] = [
  { name: "chat", perSecond: 4, order: (by) => ({ ...CHAT, words: by.between(3, 40) }) },
  { name: "long chat", perSecond: 0.8, order: (by) => ({ ...CHAT, words: by.between(60, 100), deltaMs: 30 }) },
  { name: "stream", perSecond: 4, order: (by) => ({ ...STREAM, words: by.between(3, 40) }) },
  {
    name: "long stream",
    perSecond: 1.2,
    isLong: true,
    order: (by) => ({ ...STREAM, words: by.between(50, 100), deltaMs: 100 }),
  },
  { name: "other model", perSecond: 1, order: (by) => ({ ...STREAM, model: OTHER_MODEL, words: by.between(3, 60) }) },
  {
    name: "completion",
    perSecond: 1.5,
    order: (by) => ({ ...CHAT, endpoint: "completion", stream: by.next() < 0.5, words: by.between(3, 40) }),
  },
  {
    name: "embedding",
    perSecond: 1.5,
    order: (by) => ({ endpoint: "embedding", model: "embed-m3", stream: false, deltaMs: 0, words: by.between(3, 60) }),
  },
  {
    name: "hang-up",
    perSecond: 0.7,
    order: (by) => ({ ...STREAM, words: 100, deltaMs: 50, hangUpAfterMs: by.between(50, 1500) }),
  },
  { name: "poor", perSecond: 1, order: (by) => ({ ...CHAT, words: by.between(3, 20), isPoor: true }) },
  { name: "models", perSecond: 1, read: { as: "builder", path: "/v1/models" } },
  { name: "console", perSecond: 1, read: { as: "operator", path: "/console/api/operator/overview" } },
  { name: "node API", perSecond: 1, read: { as: "host", path: "/node/v1/nodes" } },
];

/** One token each, with the space before it, in the vocabularies of the models that are asked. The load checks it first. */
const WORDS = ["time", "people", "water", "house", "world", "hand", "part", "place", "year", "day", "line", "work"];

export const textOf = (words: number, chance: Chance): string =>
  Array.from({ length: words }, () => chance.pick(WORDS)).join(" ");
