/** Tests that commands cache compiled code for the next start, and still start if the cache is not writable. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const BIN = fileURLToPath(new URL("../../bin/", import.meta.url));
const KEPT = "node_modules/.cache/compiled";

test("the gateway stores its compile cache beside the sources, for the process and its threads", async (t) => {
  const folder = await aPackage(t);
  const { output } = await start(folder);
  assert.equal(output, join(folder, KEPT));
  const [ofThisNode] = await readdir(join(folder, KEPT));
  const kept = await readdir(join(folder, KEPT, ofThisNode as string), { recursive: true });
  assert.ok(kept.length > 0);
});

test("the gateway starts without write access to its compile cache", async (t) => {
  const folder = await aPackage(t);
  await writeFile(join(folder, "node_modules"), "in the way");
  assert.deepEqual(await start(folder), { output: join(folder, KEPT), complaints: "" });
});

test("the gateway uses a configured directory for its compile cache", async (t) => {
  const folder = await aPackage(t);
  const elsewhere = join(folder, "elsewhere");
  assert.equal((await start(folder, { NODE_COMPILE_CACHE: elsewhere })).output, elsewhere);
  assert.deepEqual((await readdir(folder)).sort(), ["bin", "elsewhere", "package.json", "src"]);
});

/** Writes a package with the gateway's launcher and one command, which prints the cache directory of its threads. */
async function aPackage(t: { after: (done: () => Promise<void>) => void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tollgate-kept-"));
  t.after(() => rm(folder, { recursive: true }));
  await cp(BIN, join(folder, "bin"), { recursive: true });
  await mkdir(join(folder, "src/commands"), { recursive: true });
  await writeFile(join(folder, "package.json"), `{"type":"module"}`);
  const command = `const where: string = String(process.env.NODE_COMPILE_CACHE);\nprocess.stdout.write(where);\n`;
  await writeFile(join(folder, "src/commands/cli.ts"), command);
  return folder;
}

async function start(folder: string, env = {}): Promise<{ output: string; complaints: string }> {
  const { NODE_COMPILE_CACHE, ...own } = process.env;
  const run = promisify(execFile)(process.execPath, [join(folder, "bin/tollgate.mjs")], { env: { ...own, ...env } });
  const { stdout, stderr } = await run;
  return { output: stdout, complaints: stderr };
}
