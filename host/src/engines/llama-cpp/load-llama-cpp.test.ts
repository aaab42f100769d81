/**
 * If the optional llama.cpp package is missing, the error says what to install. Other failures are passed on unchanged.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { LLAMA_CPP_PACKAGE, LlamaCppMissingError, loadLlamaCpp } from "./load-llama-cpp.ts";

/** Imports a module that imports `specifier`, from a folder without packages. */
async function moduleImporting(
  specifier: string,
): Promise<{ load: () => Promise<unknown>; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "tollgate-nothing-installed-"));
  const file = join(folder, "engine.mjs");
  await writeFile(file, `import ${JSON.stringify(specifier)};`);
  return { load: () => import(pathToFileURL(file).href), remove: () => rm(folder, { recursive: true }) };
}

test("distinguishes a missing llama.cpp package from any other failure", async (t) => {
  const without = await moduleImporting("node-llama-cpp");
  const broken = await moduleImporting("some-other-package");
  t.after(() => Promise.all([without.remove(), broken.remove()]));
  await assert.rejects(loadLlamaCpp(without.load), (error) => error instanceof LlamaCppMissingError);
  await assert.rejects(loadLlamaCpp(broken.load), { code: "ERR_MODULE_NOT_FOUND", message: /some-other-package/ });
  assert.equal(await loadLlamaCpp(async () => 1), 1);
});

test("recommends installing the tested version of the package", async () => {
  const manifest = JSON.parse(await readFile(new URL("../../../package.json", import.meta.url), "utf8"));
  assert.equal(LLAMA_CPP_PACKAGE, `node-llama-cpp@${manifest.optionalDependencies["node-llama-cpp"]}`);
});
