/** One fuzzing run: sends many requests with limited concurrency, checks every response, and counts the results. */

import type { FuzzCase } from "./fuzz-case.ts";
import type { FuzzTarget } from "./fuzz-target.ts";
import { generateFuzzCase } from "./generate-fuzz-case.ts";
import { KeepAliveSender } from "./keep-alive-sender.ts";
import { type FuzzCaseResult, formatAnswer, formatFuzzCase, sendAndJudge } from "./send-and-judge.ts";

interface Finding {
  index: number;
  kind: string;
  text: string;
}

interface Tally {
  requests: number;
  findings: Finding[];
  /** The number of requests by kind and status; "–" if there was no response. */
  byKind: Map<string, Map<string, number>>;
  /** The number of complete answers to generation and embedding requests. Each must have a record. */
  served: number;
}

interface CampaignOptions {
  target: FuzzTarget;
  seed: number;
  from: number;
  to: number;
  concurrency: number;
  onFinding: (finding: Finding) => void;
  onProgress: (done: number) => void;
}

export const createEmptyTally = (): Tally => ({ requests: 0, findings: [], byKind: new Map(), served: 0 });

/** Runs the requests `from` to `to` of the seed, and adds their results to the tally. */
export async function runCampaign(options: CampaignOptions, tally: Tally): Promise<void> {
  const { target, seed, from, to, concurrency } = options;
  const agent = new KeepAliveSender(target, concurrency);
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) {
      const index = next++;
      const shot = generateFuzzCase(seed, index);
      const hit = await sendAndJudge(shot, target, agent);
      count(tally, shot, hit);
      if (hit.mistakes.length > 0) {
        const finding = { index, kind: shot.kind, text: formatFinding({ seed, index, shot, hit }) };
        tally.findings.push(finding);
        options.onFinding(finding);
      }
      options.onProgress(tally.requests);
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, worker));
  } finally {
    agent.close();
  }
}

function count(tally: Tally, { kind }: FuzzCase, { answers }: FuzzCaseResult): void {
  const statuses = tally.byKind.get(kind) ?? new Map<string, number>();
  tally.byKind.set(kind, statuses);
  const seen = answers.length === 0 ? ["–"] : answers.map(({ status }) => String(status));
  for (const status of seen) statuses.set(status, (statuses.get(status) ?? 0) + 1);
  tally.requests += 1;
  tally.served += answers.filter(({ status, text }) => status === 200 && isServed(text)).length;
}

const isServed = (text: string): boolean =>
  text.startsWith("data: ") || /^\{("id":"(chat)?cmpl-|"object":"list","data":\[\{"object":"embedding")/.test(text);

export function formatFinding({
  seed,
  index,
  shot,
  hit,
}: {
  seed: number;
  index: number;
  shot: FuzzCase;
  hit: FuzzCaseResult;
}): string {
  return [
    `FINDING in "${shot.kind}": ${hit.mistakes.join("; ")}`,
    `again: node e2e/fuzz/run.ts --seed ${seed} --only ${index}`,
    "--- request",
    formatFuzzCase(shot),
    ...hit.answers.flatMap((answer) => ["--- answer", formatAnswer(answer)]),
    "---",
  ].join("\n");
}

/** Formats the tally as a table: kinds of requests as rows, statuses as columns. */
export function formatTally({ byKind }: Tally): string {
  const statuses = [...new Set([...byKind.values()].flatMap((row) => [...row.keys()]))].sort();
  const line = (name: string, cells: string[]): string =>
    name.padEnd(22) + cells.map((cell) => cell.padStart(8)).join("");
  const total = (status: string): number => [...byKind.values()].reduce((sum, row) => sum + (row.get(status) ?? 0), 0);
  const rows = [...byKind].map(([kind, row]) =>
    line(
      kind,
      statuses.map((status) => String(row.get(status) ?? "")),
    ),
  );
  return [
    line("", statuses),
    ...rows,
    line(
      "all",
      statuses.map((status) => String(total(status))),
    ),
  ].join("\n");
}
