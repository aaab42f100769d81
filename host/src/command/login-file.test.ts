import assert from "node:assert/strict";
import { chmod, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { CommandError } from "@tollgate/terminal/errors.ts";
import { openLoginFile } from "./login-file.ts";
import { temporaryDirectory } from "./testing/command-harness.ts";

const LOGIN = { gateway: "http://g", token: "tht_live_a_b" };

test("writing the login file makes it readable only by its owner and leaves no temporary file", async (t) => {
  const directory = join(await temporaryDirectory(t), "tollgate");
  const file = openLoginFile(directory);
  await mkdir(directory, { mode: 0o755 });
  await writeFile(file.path, "{}", { mode: 0o644 });
  await chmod(file.path, 0o644);
  assert.equal(await file.isExposed(), true);
  await file.write(LOGIN);
  assert.equal(await file.isExposed(), false);
  assert.equal((await stat(dirname(file.path))).mode & 0o777, 0o700);
  assert.deepEqual(await readdir(directory), ["host.json"]);
  assert.deepEqual(await file.read(), LOGIN);
});

test("the error for a damaged login file names the file without quoting its content", async (t) => {
  const file = openLoginFile(await temporaryDirectory(t));
  for (const text of ['{"token": "tht_live_x_y"', '{"gateway": "http://g", "token": 7}', "[]", ""]) {
    await writeFile(file.path, text);
    await assert.rejects(file.read(), (error) => {
      assert.ok(error instanceof CommandError);
      assert.equal(error.message, `${file.path} is damaged`);
      assert.match(error.next ?? "", /login/);
      return true;
    });
  }
});

test("reading a missing login file returns no login", async (t) => {
  const file = openLoginFile(join(await temporaryDirectory(t), "none"));
  assert.equal(await file.read(), undefined);
  assert.equal(await file.isExposed(), false);
  assert.equal(await file.remove(), false);
});
