import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

/** Builds a folder of 20 files repeatedly, and checks the result after each build. */
const BUILDER = `
  import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
  import { replaceFolder } from ${JSON.stringify(new URL("replace-folder.mjs", import.meta.url).href)};
  const [folder, name] = process.argv.slice(1);
  for (let build = 0; build < 100; build++) {
    const fresh = folder + "-" + name;
    mkdirSync(fresh);
    for (let i = 0; i < 20; i++) writeFileSync(fresh + "/" + i, name);
    replaceFolder(folder, fresh);
  }
`;

test("builds that end at the same moment all succeed, and leave one complete folder", async (t) => {
  const parent = mkdtempSync(join(tmpdir(), "replace-folder-"));
  t.after(() => rmSync(parent, { recursive: true }));
  const builders = ["a", "b", "c"].map((name) =>
    spawn(process.execPath, ["--input-type=module", "-e", BUILDER, join(parent, "dist"), name], { stdio: "inherit" }),
  );
  const ends = await Promise.all(builders.map((builder) => once(builder, "exit")));
  assert.deepEqual(
    ends.map(([code]) => code),
    [0, 0, 0],
  );
  assert.deepEqual(readdirSync(parent), ["dist"], "nothing is left beside it");
  assert.equal(readdirSync(join(parent, "dist")).length, 20);
});
