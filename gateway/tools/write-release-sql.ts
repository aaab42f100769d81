/**
 * Records what a release's gateways need from the database: `npx node gateway/tools/write-release-sql.ts COMMIT`. Run
 * it with the release checked out when the release is made (gateway/sql/README.md).
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { VERSION } from "../src/base/version.ts";
import { RELEASES, readReleaseFromDatabase } from "../src/db/testing/release-sql.ts";
import { openTestDatabase } from "../src/db/testing.ts";

const [, , commit = ""] = process.argv;
if (!/^[0-9a-f]{40}$/.test(commit))
  throw new Error("usage: npx node gateway/tools/write-release-sql.ts COMMIT (40 hex digits)");
const { pool, close } = await openTestDatabase();
const release = await readReleaseFromDatabase(pool, { version: VERSION, commit });
await close();
const file = join(RELEASES, `${VERSION}.json`);
await writeFile(file, `${JSON.stringify(release, null, 2)}\n`);
console.log(`${file}: schema ${release.schema}`);
console.log("next: npm run format, and set OLDEST_SCHEMA in gateway/src/db/schema-status.ts to that number");
