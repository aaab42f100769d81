/**
 * The scenarios of the gateway bench. Those that use all processor time come first, so that those that measure latency
 * find warmed-up programs. Prompts have 1 KB and answers 100 tokens unless a scenario sets other sizes.
 */
export interface Scenario {
  what: string;
  endpoint: "chat" | "embeddings";
  mode: "loop" | "paired";
  concurrent: number;
  /** The loop ends after this time in seconds or this number of requests. */
  seconds?: number;
  total?: number;
  secondsMax: number;
  promptBytes: number;
  /** The number of messages in the prompt. Only the last one is new; the others are repeated in every request. */
  messages: number;
  tokens: number;
  /** A stream with fewer events counts as failed. Default: the number of answer tokens. */
  eventsMin?: number;
  stream: boolean;
  /** The pause between two events of a stream in milliseconds; 0: none. */
  delayMs: number;
  /** The number of events per write of the engine if there is no pause between events. */
  burst: number;
  /** The engine writes until `max_tokens`, like a real engine whose answers have no fixed length. */
  toTheCap?: boolean;
  /** The events of all streams are due at one moment, as with an engine that runs all requests in one step. */
  inSteps?: boolean;
  /** The first requests are spread over this time, in milliseconds. */
  rampMs: number;
}

const CHAT: Scenario = {
  what: "",
  endpoint: "chat",
  mode: "loop",
  concurrent: 1,
  seconds: 4,
  secondsMax: 60,
  promptBytes: 1024,
  messages: 1,
  tokens: 100,
  stream: false,
  delayMs: 0,
  burst: 100,
  rampMs: 0,
};

const { seconds: _seconds, ...ENDLESS } = CHAT;
const streams = (what: string, concurrent: number, more: Partial<Scenario>): Scenario => ({
  ...ENDLESS,
  what,
  concurrent,
  total: concurrent,
  tokens: 200,
  stream: true,
  ...more,
});

export const SCENARIOS = {
  "chat-c64": { ...CHAT, what: "chat, 64 at once", concurrent: 64 },
  "chat-c256": { ...CHAT, what: "chat, 256 at once", concurrent: 256 },
  "chat-c1": { ...CHAT, what: "chat, one at a time", seconds: 3 },
  "big-c16": { ...CHAT, what: "chat with prompts of 100 KB, 16 at once", concurrent: 16, promptBytes: 102_400 },
  "agent-c16": {
    ...CHAT,
    what: "conversations of 100 KB in 50 messages, the last of them new, 16 at once",
    concurrent: 16,
    promptBytes: 102_400,
    messages: 50,
  },
  "embed-c64": { ...CHAT, what: "embeddings, 64 at once", endpoint: "embeddings", concurrent: 64, seconds: 3 },
  "streams-unpaced": streams("500 streams at once, 1,000 in all, ten events per write, no pause", 500, {
    total: 1000,
    burst: 10,
  }),
  "streams-100": streams("100 streams of 200 events, 20 ms apart", 100, { delayMs: 20, rampMs: 400 }),
  "streams-500": streams("500 streams of 200 events, 20 ms apart", 500, { delayMs: 20, rampMs: 400 }),
  "streams-1000": streams("1,000 streams of 50 events, 100 ms apart", 1000, {
    tokens: 50,
    delayMs: 100,
    rampMs: 1000,
  }),
  "steps-64": streams("64 streams of 400 events in steps of the engine, 25 ms apart", 64, {
    tokens: 400,
    delayMs: 25,
    inSteps: true,
    rampMs: 200,
  }),
  "chat-pair": { ...CHAT, what: "chat, direct and through the gateway by turns", mode: "paired", seconds: 4 },
} satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;
export const SCENARIO_NAMES = Object.keys(SCENARIOS) as ScenarioName[];

/** Shortens a scenario for a quick check that everything works; its figures are not meant to be published. */
export function shortenScenario(scenario: Scenario): Scenario {
  return {
    ...scenario,
    ...(scenario.seconds === undefined ? {} : { seconds: 1 }),
    ...(scenario.total === undefined ? {} : { total: scenario.concurrent }),
    tokens: scenario.delayMs > 0 ? Math.ceil(scenario.tokens / 2) : scenario.tokens,
  };
}
