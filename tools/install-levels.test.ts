/** Tests how an installation is brought to the wanted level, and which platforms the lockfile may list. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { nextInstall } from "./install-levels.mjs";

const lock = (name: string): string => name.repeat(4);
const npmFor = (installed: string | undefined, level: "start" | "all"): string | undefined =>
  nextInstall({ installed, lockfile: lock("new"), level })?.npm.join(" ");

test("a fresh clone, or one with a changed lockfile, is installed at the requested level", () => {
  for (const installed of [undefined, "", `${lock("old")} start`, `${lock("old")} all`, lock("new")]) {
    assert.equal(npmFor(installed, "start"), "ci --omit=dev");
    assert.equal(npmFor(installed, "all"), "ci");
  }
});

test("test dependencies are added to an existing install, and a start accepts either", () => {
  assert.equal(npmFor(`${lock("new")} start`, "start"), undefined);
  assert.equal(npmFor(`${lock("new")} start`, "all"), "install --no-save");
  assert.equal(npmFor(`${lock("new")} all`, "all"), undefined);
  assert.equal(npmFor(`${lock("new")} all`, "start"), undefined);
});

test("the stamp of an installation makes the next one unnecessary", () => {
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

test("native modules of another processor are not installed", () => {
  const ofLlama = Object.entries(packages).filter(([path]) => path.startsWith("node_modules/@node-llama-cpp/"));
  assert.ok(ofLlama.length > 5, "the packages were found");
  const needless = ofLlama.filter(([path, { cpu = [] }]) => path.includes("arm") && cpu.includes("x64"));
  // These packages list x64 too, so that they can be built for it. npm keeps what the lockfile says.
  assert.deepEqual(needless, [], 'take "x64" out of the "cpu" of these in package-lock.json');
});

test("packages for tests and checks are not installed for a start", () => {
  const tools = ["tsc", "@biomejs/biome", "fast-check", "openai", "playwright-core", "oidc-provider", "axe-core"];
  const needed = tools.filter((name) => packages[`node_modules/${name}`]?.dev !== true);
  assert.deepEqual(needed, []);
});
