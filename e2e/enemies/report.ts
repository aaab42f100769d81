/** The results of the attacks: rows, a Markdown table, and the limits that the platform must keep under attack. */

/**
 * One attack's results. A pair of numbers is the value without the attacker, and the value while the attacker runs,
 * over equally long times.
 */
export interface StrategyRow {
  name: string;
  known: number | null;
  does: string;
  seconds: number;
  honest_earned_pico: [number, number];
  honest_sent: [number, number];
  /** The share of the honest builders' requests that failed. */
  honest_errors: [number, number];
  /** The number of the honest builders' requests that failed while the attacker ran, by error. */
  honest_saw: Record<string, number>;
  /** The median time to the first token: by the platform's clock, then by the machine's clock. */
  ttft_p50_ms: [number, number];
  ttft_p50_real_ms: [number, number];
  /**
   * Processor time and memory of the process with the gateway, the honest nodes and the honest builders: without the
   * attacker, then beside it.
   */
  cpu_ms: [number, number];
  rss_max_mib: [number, number];
  enemy_earned_pico: number;
  enemy_withheld_pico: number;
  enemy_served: number;
  enemy_took: { what: string; amount: number } | null;
  enemy_errors: string[];
}

export interface Report {
  commit: string;
  rows: StrategyRow[];
}

const LIMITS = { earningsLost: 0.05, errorsMore: 0.01, ttftTimes: 2, enemyGain: 0.01 };

const lostOf = ({ honest_earned_pico: [alone, beside] }: StrategyRow): number => (alone === 0 ? 0 : 1 - beside / alone);
const moreErrorsOf = ({ honest_errors: [alone, beside] }: StrategyRow): number => beside - alone;
const timesOf = ([alone, beside]: [number, number]): number => beside / Math.max(alone, 1);

/**
 * Returns a sentence for each limit that a row breaks. The attacker's gains per second are compared with those in
 * `before`, the same attack's earlier row. `strict` also checks times by the machine's clock, which needs a machine
 * without other work.
 */
export function findBrokenLimits(row: StrategyRow, before: StrategyRow | undefined, { strict = false } = {}): string[] {
  const broken: string[] = [];
  const percent = (value: number): string => `${(value * 100).toFixed(1)} %`;
  if (lostOf(row) >= LIMITS.earningsLost) broken.push(`honest nodes lost ${percent(lostOf(row))} of their earnings`);
  if (moreErrorsOf(row) >= LIMITS.errorsMore)
    broken.push(`honest builders saw ${percent(moreErrorsOf(row))} more errors`);
  const times = Math.max(timesOf(row.ttft_p50_ms), strict ? timesOf(row.ttft_p50_real_ms) : 0);
  if (times >= LIMITS.ttftTimes) broken.push(`the median time to first token grew ${times.toFixed(1)}-fold`);
  const gains = [
    ["earned", row.enemy_earned_pico, before?.enemy_earned_pico ?? 0],
    [`took (${row.enemy_took?.what})`, row.enemy_took?.amount ?? 0, before?.enemy_took?.amount ?? 0],
  ] as const;
  for (const [what, now, then] of gains) {
    const part = now / row.seconds / (then / (before?.seconds ?? 1));
    if (then > 0 && part >= LIMITS.enemyGain) broken.push(`the enemy ${what} ${percent(part)} of what it did before`);
  }
  return broken;
}

export function formatAttackTable({ commit, rows }: Report): string {
  const heads = [
    "#",
    "Strategy",
    "Honest nodes earn",
    "Errors",
    "TTFT p50, ms",
    "by the machine's clock",
    "CPU",
    "MiB more",
    "Enemy: share of requests, earned",
    "Enemy took",
  ];
  const lines = rows.map((row) => [
    row.known === null ? "new" : String(row.known),
    row.name,
    signed(-lostOf(row)),
    `${percentOf(row.honest_errors[0])} → ${percentOf(row.honest_errors[1])}`,
    row.ttft_p50_ms.join(" → "),
    row.ttft_p50_real_ms.join(" → "),
    `× ${(row.cpu_ms[1] / Math.max(row.cpu_ms[0], 1)).toFixed(1)}`,
    String(Math.max(0, row.rss_max_mib[1] - row.rss_max_mib[0])),
    `${percentOf(row.enemy_served / Math.max(row.honest_sent[1], 1))}, ${percentOf(row.enemy_earned_pico / Math.max(row.honest_earned_pico[0], 1))}`,
    row.enemy_took === null ? "–" : `${Math.round(row.enemy_took.amount).toLocaleString("en")} ${row.enemy_took.what}`,
  ]);
  const line = (cells: string[]): string => `| ${cells.join(" | ")} |`;
  return [
    `Code of ${commit}, ${rows[0]?.seconds ?? 0} s each. Pairs: without the enemy → beside it. The enemy's earnings are a share of what the`,
    "four honest nodes earn together without it.",
    "",
    line(heads),
    `|${heads.map(() => "---|").join("")}`,
    ...lines.map(line),
    "",
  ].join("\n");
}

const percentOf = (share: number): string => `${Math.round(share * 100)} %`;
const signed = (share: number): string =>
  `${share > 0 ? "+" : share < 0 ? "−" : "±"}${Math.abs(Math.round(share * 100))} %`;
