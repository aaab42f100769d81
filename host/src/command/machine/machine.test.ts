import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { thisMachine } from "./machine.ts";

test("run() waits for a program's end, and returns undefined if the program is missing", async () => {
  const machine = thisMachine();
  assert.deepEqual(await machine.run(process.execPath, ["-e", "console.log('a'); console.error('b')"]), {
    ...{ code: 0, output: "a\n", errors: "b\n" },
  });
  assert.equal((await machine.run(process.execPath, ["-e", "process.exit(7)"]))?.code, 7);
  assert.equal(await machine.run("tollgate-no-such-program", []), undefined);
  // The program reads a pipe without a writer, so it never ends by itself.
  const timeoutMs = 200;
  const endless = await machine.run(process.execPath, ["-e", "process.stdin.resume()"], { timeoutMs });
  assert.equal(endless?.code, -1);
});

test("reports cores, memory and disk space of this machine", async () => {
  const machine = thisMachine();
  assert.ok(machine.cores >= 1 && machine.memoryBytes > 0 && machine.freeMemoryBytes() > 0);
  assert.ok((await machine.freeDiskBytes(tmpdir())) > 0);
  assert.equal(machine.exists(tmpdir()), true);
});
