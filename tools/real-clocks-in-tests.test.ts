import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { findClockUsesIn, findRealClockUsesInTests, findUnusedExemptions } from "./real-clocks-in-tests.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const whatOf = (source: string): string[] => findClockUsesIn("a.test.ts", source).map(({ what }) => what);

test("no test depends on the machine's speed or on unseeded random numbers", () => {
  const found = findRealClockUsesInTests(root).map(({ file, line, what, text }) => `${file}:${line}: ${what}: ${text}`);
  assert.deepEqual(found, []);
});

test("every exception to the rules on time in tests is still needed", () => {
  assert.deepEqual(findUnusedExemptions(root), []);
});

/** Code that the check refuses, by the rule that it breaks. */
const REFUSED: Record<string, string[]> = {
  sleeps: [
    'import { setTimeout as sleep } from "node:timers/promises";',
    'import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";',
    'import timers from "timers/promises";',
    "await new Promise((resolve) => setTimeout(resolve, 50));",
    'const trickle = setInterval(() => socket.write("a"), 20);',
    "const pause = promisify(setTimeout);",
    "await page.waitForTimeout(50);",
    "await sleep(systemClock, 10);",
  ],
  "measures time": [
    "const began = performance.now();",
    "const { user } = process.cpuUsage();",
    "const delays = monitorEventLoopDelay();",
    "const tookMs = Date.now() - startedAt;",
    "while (Date.now() < until) await look();",
    "assert.ok(tookMs < 2_000);",
    "assert.ok(answer.ms <= NEXT_MS_MAX, what);",
    "assert.ok(elapsed < limit * 2);",
  ],
  "sets a deadline of its own": [
    "await fetch(url, { signal: AbortSignal.timeout(5_000) });",
    'test("a test", { timeout: 10_000 }, async () => {});',
    "await row.waitFor({ timeout: WITHIN_MS });",
    "const child = spawn(program, args, { timeout: 60_000 });",
    "context.setDefaultTimeout(40_000);",
    "outgoing.setTimeout(ANSWER_MS_MAX, () => outgoing.destroy());",
  ],
  "races a timer": [
    "const got = await Promise.race([answer, sleep(1_000)]);",
    "const got = await Promise.race([\n  answer,\n  new Promise((resolve) => setTimeout(resolve, 100)),\n]);",
  ],
  "leaves the outcome to luck": [
    "const seed = Math.floor(Math.random() * 2 ** 31);",
    "const roster = new Roster({ plane, clock, random: systemRandom(), log, nodeRecord });",
    "const coin = (): boolean => systemRandom().below(2) === 0;",
    "assert.doesNotMatch(answer.text, /0532/);",
    'assert.equal(text.includes("3000"), false);',
  ],
  "tries again": [
    "const TRIES = 3;",
    "const ATTEMPTS_MAX = 5;",
    "while (told.length < TRIES) await run();",
    "for (let tries = 1; ; tries++) {",
    "for (let attempt = 0; attempt < 3; attempt++) {",
    "await expect.poll(() => page.title()).toBe(title);",
    "await expect(look).toPass();",
  ],
};

describe("refuses a test that", () => {
  for (const [what, examples] of Object.entries(REFUSED)) {
    for (const example of examples) {
      test(`${what}: ${example.replaceAll("\n", " ")}`, () => assert.equal(whatOf(example)[0], what));
    }
  }
});

/** Allowed alternatives, and code that only looks similar to refused code. */
const ACCEPTED = [
  'await eventually("it serves", async () => (await ask()).status === 200);',
  'await unlessHung("the stream ends", stream.ended);',
  "await fetch(url, { signal: hangSignal() });",
  "await fetch(url, { signal: AbortSignal.timeout(HANG_LIMIT_MS) });",
  "context.setDefaultTimeout(HANG_LIMIT_MS);",
  "await page.clock.runFor(60_000);",
  "mock.timers.tick(2_000);",
  "clock.advance(2_000);",
  "clock.after(LATE_MS, giveUp);",
  'import { setImmediate as turn } from "node:timers/promises";',
  "const month = new Date(Date.now() - 30 * DAY_MS);",
  "assert.ok(Date.now() >= expiresAt.getTime());",
  'const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);',
  "const got = await Promise.race([answer, closed]);",
  'const started = await Promise.race([request, eventually("it begins", () => pieces > 3)]);',
  "const ATTEMPTS: Record<string, string> = { bare: key };",
  "for (const [attempt, headers] of Object.entries(ATTEMPTS)) await ask(headers);",
  "interface Options { timeoutMs: number }",
  "server.setTimeout(0);",
  'const yaml = text.replace("- timeout: 2s", "- timeout: 300s");',
  "// setTimeout would judge the machine.",
  " * A timeout: 5 s.",
];

describe("accepts a test with", () => {
  for (const example of ACCEPTED) test(example, () => assert.deepEqual(whatOf(example), []));
});

test("a finding names the file, the line and the rule", () => {
  const source = 'import { test } from "node:test";\n\n  await page.waitForTimeout(50);\n';
  const found = { file: "a.test.ts", line: 3, what: "sleeps", text: "await page.waitForTimeout(50);" };
  assert.deepEqual(findClockUsesIn("a.test.ts", source), [found]);
});
