/**
 * What is sent. The saturating scenarios come first, so that the ones that measure latency meet warm programs. Prompts are
 * 1 KB and answers 100 tokens where nothing else is said.
 */
export interface Scenario {
  what: string;
  endpoint: "chat" | "embeddings";
  mode: "loop" | "paired";
  concurrent: number;
  /** How long the loop goes on, or how many requests it makes. */
  seconds?: number;
  total?: number;
  secondsMax: number;
  promptBytes: number;
  /** Over how many messages the prompt is spread. The last alone is new: the others are sent again and again. */
  messages: number;
  tokens: number;
  /** A stream with fewer events is not a good one. Absent: as many as tokens. */
  eventsMin?: number;
  stream: boolean;
  /** Between two events of one stream; 0: no pause. */
  delayMs: number;
  /** Events per write of the engine where there is no pause. */
  burst: number;
  /** The engine says as much as it may: a real one, which is not told how much to say. */
  toTheCap?: boolean;
  /** The events of all streams fall due together, as those of an engine that runs its requests in one step. */
  inSteps?: boolean;
  /** Over which the first requests are spread. */
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

/** Enough to see that everything works; too short for figures to quote. */
export function shortened(scenario: Scenario): Scenario {
  return {
    ...scenario,
    ...(scenario.seconds === undefined ? {} : { seconds: 1 }),
    ...(scenario.total === undefined ? {} : { total: scenario.concurrent }),
    tokens: scenario.delayMs > 0 ? Math.ceil(scenario.tokens / 2) : scenario.tokens,
  };
}
