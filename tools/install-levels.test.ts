/** How an install goes from what is there to what is wanted, and what the lockfile must say for it to stay small. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { nextInstall } from "./install-levels.mjs";

const lock = (name: string): string => name.repeat(4);
const npmFor = (installed: string | undefined, level: "start" | "all"): string | undefined =>
  nextInstall({ installed, lockfile: lock("new"), level })?.npm.join(" ");

test("a fresh clone, or one whose lockfile changed, is installed anew at the level that is asked for", () => {
  for (const installed of [undefined, "", `${lock("old")} start`, `${lock("old")} all`, lock("new")]) {
    assert.equal(npmFor(installed, "start"), "ci --omit=dev");
    assert.equal(npmFor(installed, "all"), "ci");
  }
});

test("what tests need comes on top of what is there, and a platform starts on all of it", () => {
  assert.equal(npmFor(`${lock("new")} start`, "start"), undefined);
  assert.equal(npmFor(`${lock("new")} start`, "all"), "install --no-save");
  assert.equal(npmFor(`${lock("new")} all`, "all"), undefined);
  assert.equal(npmFor(`${lock("new")} all`, "start"), undefined);
});

test("the stamp of a step is what makes it the last one", () => {
  for (const level of ["start", "all"] as const) {
    const step = nextInstall({ installed: undefined, lockfile: lock("new"), level });
    assert.ok(step !== undefined);
    assert.equal(nextInstall({ installed: step.stamp, lockfile: lock("new"), level }), undefined);
  }
});

interface Locked {
  cpu?: string[];
  dev?: boolean;
}
const packages: Record<string, Locked> = JSON.parse(
  readFileSync(new URL("../package-lock.json", import.meta.url), "utf8"),
).packages;

test("no binary for one processor is installed on another", () => {
  const ofLlama = Object.entries(packages).filter(([path]) => path.startsWith("node_modules/@node-llama-cpp/"));
  assert.ok(ofLlama.length > 5, "the packages were found");
  const needless = ofLlama.filter(([path, { cpu = [] }]) => path.includes("arm") && cpu.includes("x64"));
  // They name x64 too, so that they can be built for there. npm keeps to what the lockfile says once it is written.
  assert.deepEqual(needless, [], 'take "x64" out of the "cpu" of these in package-lock.json');
});

test("what only tests and checks use is left out of a start", () => {
  const tools = ["tsc", "@biomejs/biome", "fast-check", "openai", "playwright-core", "oidc-provider", "axe-core"];
  const needed = tools.filter((name) => packages[`node_modules/${name}`]?.dev !== true);
  assert.deepEqual(needed, []);
});
