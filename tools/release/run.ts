/**
 * `npm run release`: builds the files of a release in `dist/`. With `-- --tag vX.Y.Z` it first checks that the tag is
 * the current commit, no file is changed, the version matches and the changelog has a section for the version.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildRelease } from "./build.ts";
import { readChangelogSection } from "./changelog.ts";
import { checkTag } from "./check-tag.ts";
import { readCommonVersion } from "./versions.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const out = join(root, "dist");

try {
  const { tag } = parseArgs({ options: { tag: { type: "string" } } }).values;
  const version = readCommonVersion(root);
  if (tag !== undefined) checkTag({ tag, version, git });
  const changes = readChangelogSection(
    readFileSync(join(root, "CHANGELOG.md"), "utf8"),
    tag === undefined ? "Unreleased" : version,
  );
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
  const repository = GITHUB_REPOSITORY === undefined ? undefined : `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`;
  const files = await buildRelease({ root, out, version, origin: { repository } });
  writeFileSync(join(out, "CHANGES.md"), changes);
  for (const file of [...files, "CHANGES.md"]) console.log(`${kilobytes(join(out, file)).padStart(9)}  dist/${file}`);
  if (tag === undefined) console.log(`a trial of ${version}: not from a tag`);
} catch (error) {
  console.error(`release: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

function kilobytes(file: string): string {
  return `${Math.ceil(statSync(file).size / 1000)} kB`;
}
