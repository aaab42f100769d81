/** What npm is told to do, what a person is told meanwhile, and the stamp that is left when it is done. */
interface InstallStep {
  npm: string[];
  saying: string;
  stamp: string;
}

/** `installed` is the stamp of the install that is there; undefined when nothing is left to do. */
export function nextInstall(place: {
  installed: string | undefined;
  lockfile: string;
  level: "start" | "all";
}): InstallStep | undefined;
