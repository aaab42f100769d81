import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { buildServiceWorker } from "./write-service-worker.ts";

const source = readFileSync(new URL("../shell-worker.js", import.meta.url), "utf8");

test("every build of the console gets a different service worker", () => {
  const one = buildServiceWorker(source, "assets/index-a.js", ["assets/index-a.js", "assets/page-b.js"]);
  assert.doesNotMatch(one, /__[A-Z]+__/);
  assert.match(one, /"\/console\/assets\/page-b\.js"/);
  assert.equal(one, buildServiceWorker(source, "assets/index-a.js", ["assets/page-b.js", "assets/index-a.js"]));
  const buildOf = (text: string): string | undefined => /BUILD = "(\w+)"/.exec(text)?.[1];
  assert.notEqual(buildOf(one), buildOf(buildServiceWorker(source, "assets/index-c.js", ["assets/index-c.js"])));
});
