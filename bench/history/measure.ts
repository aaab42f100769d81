/** One question, asked several times. */
import type { Cost } from "./plans.ts";
import type { Question } from "./questions.ts";

const REPEATS = 9;

export interface Figures {
  name: string;
  isExport: boolean;
  rows: number;
  /** The first time it was asked, when less was in memory. */
  firstMs: number;
  medianMs: number;
  /** The machines this runs on are shared: the least is nearest to what the question itself needs. */
  leastMs: number;
  processorMs: number;
  pages: number;
  scanned: string[];
  indexes: string[];
}

export async function measure({ name, ask, isExport = false }: Question, taken: () => Cost[]): Promise<Figures> {
  const times: { ms: number; processorMs: number }[] = [];
  let [rows, last]: [number, Cost[]] = [0, []];
  for (let i = 0; i < REPEATS; i++) {
    rows = await ask();
    last = taken();
    times.push({ ms: sum(last.map(({ ms }) => ms)), processorMs: sum(last.map(({ processorMs }) => processorMs)) });
  }
  const clock = times.map(({ ms }) => ms);
  return {
    name,
    isExport,
    rows,
    firstMs: clock[0] as number,
    medianMs: median(clock),
    leastMs: Math.min(...clock),
    processorMs: median(times.map(({ processorMs }) => processorMs)),
    pages: sum(last.map(({ pages }) => pages)),
    scanned: last.flatMap(({ scanned }) => scanned),
    indexes: last.flatMap(({ indexes }) => indexes),
  };
}

const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;
