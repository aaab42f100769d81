/**
 * The kinds of requests in the steady load, and how often each is sent. Together they make about twenty requests a
 * second, with as many in flight, which two cores handle easily: chaos runs test faults, not load.
 */
import type { SeededRandom } from "../seeded-random.ts";
import type { PlannedRequest } from "./observation.ts";

export interface RequestKind {
  name: string;
  perSecond: number;
  /** Marks requests that take so long that recovery from a fault is judged without them. */
  isLong?: boolean;
  /** Draws the request to send; undefined if a path is read instead. */
  order?: (chance: SeededRandom) => Order;
  /** The path to read, and the role whose credentials are used. */
  read?: { as: "builder" | "operator" | "host"; path: string };
}

interface Order extends Pick<PlannedRequest, "endpoint" | "stream"> {
  model: string;
  words: number;
  /** The pause between two words of the engine in milliseconds. */
  deltaMs: number;
  hangUpAfterMs?: number;
  isPoor?: boolean;
}

const CHAT = { endpoint: "chat", model: "tiny-3b", stream: false, deltaMs: 5 } as const;
const STREAM = { ...CHAT, stream: true } as const;
const OTHER_MODEL = "small-7b-alt";

export const REQUEST_KINDS: RequestKind[] = [
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

/**
 * Words that are one token each, with the space before them, in the vocabularies of the models used. The load checks
 * that first.
 */
const WORDS = ["time", "people", "water", "house", "world", "hand", "part", "place", "year", "day", "line", "work"];

export const makeRandomText = (words: number, chance: SeededRandom): string =>
  Array.from({ length: words }, () => chance.pick(WORDS)).join(" ");
