/**
 * Finds tests that judge the machine: that sleep, measure how long something took, or set a deadline of their own. A test waits
 * for an outcome (stage/wait.ts) or drives the clock; what something costs is measured in bench/.
 *
 * `node tools/test-clocks.ts [FOLDER…]` lists what it finds in these folders.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Tests and what they are made of. The fault runner (chaos/) and bench/ work in real time: only their own tests are read. */
const TEST_CODE = ["**/*.test.{ts,tsx}", "**/testing.ts", "**/testing/**/*.ts", "{e2e,stage,engines}/**/*.ts"];

const RULES: [RegExp, string][] = [
  [/timers\/promises|\bset(?:Timeout|Interval)\(|\bwaitForTimeout\(|\bsleep\(systemClock/, "sleeps"],
  [
    /\bperformance\.(?:now|timeOrigin)\b|\bprocess\.(?:hrtime|cpuUsage|resourceUsage)\b|\bmonitorEventLoopDelay\b/,
    "measures time",
  ],
  // `Date.now() - 30 * DAY_MS` makes a date of the past; `Date.now() - startedAt` measures.
  [/\bDate\.now\(\)\s*-\s*[a-z]\w*\b(?!\s*\*)/, "measures time"],
  [
    /\bAbortSignal\.timeout\((?!HANG_LIMIT_MS)|\btimeout(?:Ms)?:\s*(?!HANG_LIMIT_MS|number\b)|\bsetDefault(?:Navigation)?Timeout\((?!HANG_LIMIT_MS)/,
    "sets a deadline of its own",
  ],
  [/\b(?:TRIES|ATTEMPTS|RETRIES)(?:_MAX)?\b/, "tries again"],
];

/** Where real time is the subject or the means, with the reason. */
const ALLOWED: Record<string, string> = {
  "e2e/hostile/pace.ts": "the pace of nodes made by hand, which reports and speaks as agents do; nothing is judged by it",
  "stage/wait.ts": "the one place that waits",
  "tools/test-clocks.test.ts": "names what is refused",
};

export interface Finding {
  file: string;
  line: number;
  what: string;
  text: string;
}

export function findingsIn(file: string, source: string): Finding[] {
  return source.split("\n").flatMap((text, index) => {
    if (/^\s*(\*|\/\/|\/\*)/.test(text)) return [];
    const what = RULES.find(([pattern]) => pattern.test(text))?.[1];
    return what === undefined ? [] : [{ file, line: index + 1, what, text: text.trim() }];
  });
}

export function findClockTests(root: string): Finding[] {
  const files = globSync(TEST_CODE, { cwd: root, exclude: ["**/node_modules/**", ".cache/**", "bench/**"] });
  return files
    .filter((file) => ALLOWED[file] === undefined)
    .sort()
    .flatMap((file) => findingsIn(file, readFileSync(join(root, file), "utf8")));
}

if (import.meta.main) {
  const folders = process.argv.slice(2);
  const found = findClockTests(fileURLToPath(new URL("..", import.meta.url)));
  const shown = found.filter(({ file }) => folders.length === 0 || folders.some((folder) => file.startsWith(folder)));
  for (const { file, line, what, text } of shown) console.log(`${file}:${line}: ${what}: ${text}`);
  console.log(`${shown.length} found`);
}
