import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { readCommonVersion } from "./versions.ts";

test("all packages of the repository have the same version", () => {
  assert.match(readCommonVersion(fileURLToPath(new URL("../..", import.meta.url))), /^\d+\.\d+\.\d+/);
});

test("a package with a different version is reported by name", (t) => {
  const root = mkdtempSync(join(tmpdir(), "tollgate-versions-"));
  t.after(() => rmSync(root, { recursive: true }));
  const write = (folder: string, manifest: object): void => {
    mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, folder, "package.json"), JSON.stringify(manifest));
  };
  write("", { version: "2.0.0", workspaces: ["api", "host"] });
  write("api", { version: "2.0.0" });
  write("host", { version: "1.9.0", dependencies: { "@tollgate/api": "1.9.0", zod: "4.0.0" } });
  assert.throws(() => readCommonVersion(root), {
    message:
      /^package\.json is 2\.0\.0, but host\/package\.json is 1\.9\.0, host\/package\.json wants @tollgate\/api 1\.9\.0: /,
  });
});
