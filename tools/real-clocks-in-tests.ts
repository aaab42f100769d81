/**
 * Finds tests that depend on the machine's speed or on luck: tests that sleep, measure durations, set deadlines of
 * their own, race a timer, retry until something works, or draw random numbers without a seed. A test waits for an
 * outcome (stage/wait.ts) or drives a manual clock. Durations are measured in bench/.
 *
 * `node tools/real-clocks-in-tests.ts [FOLDER…]` lists the findings in these folders.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Tests and the code that they share. The fault runner (chaos/) with its servers and its load, e2e/enemies and bench/
 * work in real time, so only their own tests are read.
 */
const TEST_CODE = ["**/*.test.{ts,tsx}", "**/testing{,-*}.ts", "**/testing/**/*.ts", "{e2e,stage,engines}/**/*.ts"];

interface Rule {
  what: string;
  patterns: RegExp[];
  /** The number of lines that a match may span (default: 1). */
  lines?: number;
}

/** Names for durations: `tookMs`, `elapsed`, `STALL_MS`. */
const DURATION = String.raw`(?:\w*(?:[a-z]Ms|_MS|_ms)|ms|elapsed|took|duration|latency)`;

const RULES: Rule[] = [
  {
    what: "races a timer",
    lines: 4,
    patterns: [/\bPromise\.race\(\[?[^;]*?\b(?:sleep|pause|delay|wait(?:Ms)?|setTimeout|AbortSignal\.timeout)\(/],
  },
  {
    what: "sleeps",
    patterns: [
      // `setImmediate` is allowed, because the event loop's next turn does not depend on time.
      /\bimport (?!\{ setImmediate\b[^,]*\}).*timers\/promises/,
      // A timer with an empty callback is allowed, because it only keeps a process alive.
      /(?<![.\w])set(?:Timeout|Interval)\((?!\(\) => \{\},)/,
      /\bpromisify\(setTimeout\)|\bAtomics\.wait\(|\bwaitForTimeout\(|\bsleep\(systemClock/,
    ],
  },
  {
    what: "measures time",
    patterns: [
      /\bperformance\.(?:now|timeOrigin|mark|measure)\b|\bmonitorEventLoopDelay\b/,
      /\bprocess\.(?:hrtime|cpuUsage|resourceUsage|threadCpuUsage)\b/,
      // Matches `Date.now() - startedAt`, which measures a duration, but not `Date.now() - 30 * DAY_MS`, which computes
      // a past date.
      /\bDate\.now\(\)\s*-\s*[a-z]\w*\b(?!\s*\*)/,
      /\bwhile \(.*\bDate\.now\(\)/,
      new RegExp(String.raw`\bassert\.ok\((?:\w+\.)*${DURATION} <=? [\w.]+(?: \* \d+)?[,)]`),
    ],
  },
  {
    what: "sets a deadline of its own",
    patterns: [
      /\bAbortSignal\.timeout\((?!HANG_LIMIT_MS)/,
      // Finds timeouts in code, not in the YAML or the command line of another program.
      /(?<!- )(?<![\w-])timeout(?:Ms)?:(?!\s*(?:HANG_LIMIT_MS|number|0)\b)/,
      /\.set(?:DefaultTimeout|DefaultNavigationTimeout|Timeout)\((?!(?:HANG_LIMIT_MS|0)\b)/,
    ],
  },
  {
    what: "leaves the outcome to luck",
    patterns: [
      // `TEST_SEED` on the line marks a seed that is printed and can be set, so that the run is repeatable; `npm test`
      // sets it.
      /(?<!TEST_SEED.*)\bMath\.random\(/,
      // `systemRandom` is for IDs and keys, which must be new in every run. Random choices must be the same in every
      // run.
      /\bnew Roster\(.*\bsystemRandom\(|\bsystemRandom\(\)\.below\(/,
      // A time or an ID may contain any short run of digits, so a text with one may match by accident.
      /\bdoesNotMatch\(.*,\s*\/(?:\\b)?\d{1,6}(?:\\b)?\/|(?:!|\bequal\()[\w.]+\.includes\("\d{1,6}"\)/,
    ],
  },
  {
    what: "tries again",
    patterns: [
      /\b(?:TRIES|ATTEMPTS|RETRIES)(?:_MAX)? = \d|[<>=] (?:TRIES|ATTEMPTS|RETRIES)(?:_MAX)?\b/,
      /\bfor \(let (?:tries|attempts?|retry|retries)\b/,
      /\bretries: [1-9]|\bexpect\.poll\(|\.toPass\(/,
    ],
  },
];

const REAL_TIME = /^(stage\/(servers|load)|e2e\/enemies)\//;

/** Files in which real time is the subject or necessary, with the reason. */
const ALLOWED: Record<string, string> = {
  "stage/servers/fake-clock.test.ts": "a child process under a clock that jumps tells the time by a timer",
  "stage/servers/postgres.test.ts": "a commit on a slowed disk takes at least the configured delay",
  "engines/costly-prompts/run.ts": "a benchmark, which nothing judges",
  "engines/costly-prompts/schemas.ts": "a benchmark, which nothing judges",
  "engines/behaviours/cancel-check.ts": "compares an engine's processor use and speed with its own, within one run",
  "sim/simulate.test.ts": "names what the simulator refuses",
  "stage/nodes/real-time-pauses.ts":
    "the pace of nodes made by hand, which reports and speaks as agents do; nothing is judged by it",
  "stage/wait.ts": "the one place that waits",
  "tools/real-clocks-in-tests.test.ts": "names what is refused",
  "stage/killable-process.ts": "kills a process of a fault run that does not end; a test's own has the limit of a hang",
  "stage/in-process-stage.ts": "the clock of a stage whose clock runs, which no slow machine moves",
};

interface Finding {
  file: string;
  line: number;
  what: string;
  text: string;
}

export function findClockUsesIn(file: string, source: string): Finding[] {
  const code = source.split("\n").map((text) => (/^\s*(\*|\/\/|\/\*)/.test(text) ? "" : text));
  return code.flatMap((text, index) => {
    const what = RULES.find(({ patterns, lines = 1 }) => {
      // A match may span several lines, but counts only for the line on which it begins.
      const first = lines === 1 ? text : code.slice(index, index + lines).join("\n");
      return patterns.some((pattern) => (pattern.exec(first)?.index ?? Number.POSITIVE_INFINITY) <= text.length);
    })?.what;
    return what === undefined ? [] : [{ file, line: index + 1, what, text: text.trim() }];
  });
}

export function findRealClockUsesInTests(root: string): Finding[] {
  const files = globSync(TEST_CODE, { cwd: root, exclude: ["**/node_modules/**", ".cache/**", "bench/**"] });
  return files
    .filter((file) => ALLOWED[file] === undefined && !(REAL_TIME.test(file) && !file.includes(".test.")))
    .sort()
    .flatMap((file) => findClockUsesIn(file, readFileSync(join(root, file), "utf8")));
}

/** Returns files that do not need their exception any more. */
export function findUnusedExemptions(root: string): string[] {
  const { "tools/real-clocks-in-tests.test.ts": _, ...named } = ALLOWED;
  return Object.keys(named).filter(
    (file) => findClockUsesIn(file, readFileSync(join(root, file), "utf8")).length === 0,
  );
}

if (import.meta.main) {
  const folders = process.argv.slice(2);
  const found = findRealClockUsesInTests(fileURLToPath(new URL("..", import.meta.url)));
  const shown = found.filter(({ file }) => folders.length === 0 || folders.some((folder) => file.startsWith(folder)));
  for (const { file, line, what, text } of shown) console.log(`${file}:${line}: ${what}: ${text}`);
  console.log(`${shown.length} found`);
}
