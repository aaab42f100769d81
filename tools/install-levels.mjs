// What npm has to do to get from what is installed to what is wanted. `npm ci` begins anew, which is right wherever the
// lockfile is another; what the tests need on top of a platform is added to what is there.

export function nextInstall({ installed, lockfile, level }) {
  const stamp = `${lockfile} ${level}`;
  if (installed === `${lockfile} all` || installed === stamp) return undefined;
  if (level === "start") {
    return { npm: ["ci", "--omit=dev"], saying: "installing what a platform needs (once, about 330 MB)", stamp };
  }
  // Without saving: the lockfile says what is installed, and an install does not get to change it.
  if (installed === `${lockfile} start`) {
    return { npm: ["install", "--no-save"], saying: "installing what tests need as well (once, about 150 MB)", stamp };
  }
  return { npm: ["ci"], saying: "installing everything, what tests need too (once, about 480 MB)", stamp };
}
