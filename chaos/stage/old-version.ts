/** Chooses the commit from which a rolling upgrade starts. */
import { type CommitLookup, findCommit, runGit } from "@tollgate/stage/source-versions.ts";
import { readLastRelease } from "../../gateway/src/db/testing/release-sql.ts";

/**
 * Returns the commit of the named revision, or else of the newest tag, or else of the last release in
 * gateway/sql/releases.
 */
export function findOldVersion(named: string | undefined): CommitLookup {
  const [newestTag] = runGit("tag", "--sort=-creatordate").split("\n");
  const revision = named ?? (newestTag || readLastRelease().commit);
  const found = findCommit(revision);
  if ("commit" in found && found.commit === runGit("rev-parse", "HEAD"))
    return { why: `${revision} is what is checked out` };
  return found;
}
