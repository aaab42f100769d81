// Puts a folder that was built beside another in the other's place. Several builds may end at the same moment: each leaves a whole
// folder behind, and the last one stays.
import { renameSync, rmSync } from "node:fs";

/** `fresh` is on the same disk as `folder`, and is gone afterwards. */
export function replaceFolder(folder, fresh) {
  const old = `${fresh}-old`;
  for (;;) {
    rename(folder, old, "ENOENT");
    const isThere = rename(fresh, folder, "ENOTEMPTY", "EEXIST");
    rmSync(old, { recursive: true, force: true });
    if (isThere) return;
  }
}

/** Whether it was done; false for one of these reasons. */
function rename(from, to, ...reasons) {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (reasons.includes(error.code)) return false;
    throw error;
  }
}
