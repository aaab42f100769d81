/** Checks that the working tree is unchanged and at the commit of the release's tag. */

interface Place {
  tag: string;
  version: string;
  git: (...args: string[]) => string;
}

export function checkTag({ tag, version, git }: Place): void {
  if (tag !== `v${version}`) throw new Error(`the tag ${tag} is not that of version ${version}, which is v${version}`);
  if (git("rev-parse", "HEAD") !== git("rev-parse", `${tag}^{commit}`))
    throw new Error(`${tag} is another commit than this`);
  const changed = git("status", "--porcelain");
  if (changed !== "") throw new Error(`files differ from what ${tag} holds:\n${changed}`);
}
