/**
 * Tests which npm command brings an installation to the requested level ("start" or "all"), and which platforms the
 * lockfile may list.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { nextInstall } from "./install-levels.mjs";

const lock = (name: string): string => name.repeat(4);
const npmFor = (installed: string | undefined, level: "start" | "all"): string | undefined =>
  nextInstall({ installed, lockfile: lock("new"), level })?.npm.join(" ");

test("a fresh clone and a clone with a changed lockfile get the dependencies of the requested level (start or all)", () => {
  for (const installed of [undefined, "", `${lock("old")} start`, `${lock("old")} all`, lock("new")]) {
    assert.equal(npmFor(installed, "start"), "ci --omit=dev");
    assert.equal(npmFor(installed, "all"), "ci");
  }
});

test("test dependencies are added to an existing install, and a start accepts an install with or without them", () => {
  assert.equal(npmFor(`${lock("new")} start`, "start"), undefined);
  assert.equal(npmFor(`${lock("new")} start`, "all"), "install --no-save");
  assert.equal(npmFor(`${lock("new")} all`, "all"), undefined);
  assert.equal(npmFor(`${lock("new")} all`, "start"), undefined);
});

test("a second installation is skipped if the first one's stamp matches the lockfile and the level", () => {
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

test("native modules for another processor are not installed", () => {
  const ofLlama = Object.entries(packages).filter(([path]) => path.startsWith("node_modules/@node-llama-cpp/"));
  assert.ok(ofLlama.length > 5, "the packages were found");
  const needless = ofLlama.filter(([path, { cpu = [] }]) => path.includes("arm") && cpu.includes("x64"));
  // These packages are built for ARM but also list x64, so npm would install them there. npm keeps what the lockfile
  // lists.
  assert.deepEqual(needless, [], 'take "x64" out of the "cpu" of these in package-lock.json');
});

test("packages that only tests and checks need are development dependencies, which a platform start does not install", () => {
  const tools = ["tsc", "@biomejs/biome", "fast-check", "openai", "playwright-core", "oidc-provider", "axe-core"];
  const needed = tools.filter((name) => packages[`node_modules/${name}`]?.dev !== true);
  assert.deepEqual(needed, []);
});
