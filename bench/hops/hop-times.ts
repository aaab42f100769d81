/** Turns recorded times into a timeline: the steps (hops) of a single chat, in order, and the duration of each. */
import type { HopEvent, RecordedMoment } from "./record-hop-times.ts";

export interface TimedChat {
  sentAtUs: number;
  endedAtUs: number;
}

/** The process that recorded a time. */
type Who = "gateway" | "agent";

/** The hops in order. Each is the first record of its kind after the previous hop. */
const TIMELINE: [name: string, who: Who, hop: HopEvent][] = [
  ["the request is read", "gateway", "socket"],
  ["it is parsed", "gateway", "parsed"],
  ["the hold is sent", "gateway", "written database"],
  ["the hold is committed", "gateway", "read database"],
  ["the offer is sent", "gateway", "written plane"],
  ["the agent reads it", "agent", "read other"],
  ["the agent accepts", "agent", "written other"],
  ["the acceptance is read", "gateway", "read plane"],
  ["the settlement is sent", "gateway", "written database"],
  ["it is committed", "gateway", "read database"],
  ["the answer is written", "gateway", "written client"],
];

/** When each hop happened, in microseconds after the request was sent; the last is the arrival of the answer. */
export type HopTimes = number[];

/**
 * Returns the hops of each chat. Other traffic during a chat (a slot report, a heartbeat) may be taken for a hop of the
 * chat; medians are not affected by these few cases.
 */
export function computeHopTimes(chats: TimedChat[], moments: Record<Who, RecordedMoment[]>): HopTimes[] {
  const from: Record<Who, number> = { gateway: 0, agent: 0 };
  const all: HopTimes[] = [];
  for (const { sentAtUs, endedAtUs } of chats) {
    let now = sentAtUs;
    const hops: HopTimes = [];
    for (const [, who, hop] of TIMELINE) {
      const list = moments[who];
      const at = list.findIndex(([us, each], i) => i >= from[who] && us >= now && each === hop);
      const found = list[at];
      if (found === undefined || found[0] > endedAtUs) break;
      from[who] = at;
      now = found[0];
      hops.push(now - sentAtUs);
    }
    if (hops.length === TIMELINE.length) all.push([...hops, endedAtUs - sentAtUs]);
  }
  return all;
}

const NAMES = [...TIMELINE.map(([name]) => name), "the client has it"];

/**
 * Formats a table with a row for each hop and a column for each gateway: the time since the previous hop (10th
 * percentile, median, 99th).
 */
export function renderHopTimesTable(columns: [string, HopTimes[]][]): string {
  const head = ["hop", ...columns.map(([name, hops]) => `${name}, ${hops.length} chats: µs p10 · p50 · p99`)];
  const rows = NAMES.map((name, i) => [
    name,
    ...columns.map(([, hops]) => told(hops.map((each) => (each[i] as number) - (each[i - 1] ?? 0)))),
  ]);
  const whole = ["in all", ...columns.map(([, hops]) => told(hops.map((each) => each.at(-1) as number)))];
  return [head, head.map(() => "---"), ...rows, whole].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function told(us: number[]): string {
  const sorted = us.toSorted((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(0);
  return `${at(0.1)} · ${at(0.5)} · ${at(0.99)}`;
}
