/** Checks that all packages have the root's version, which the release tag contains. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Manifest {
  name: string;
  version: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/** Returns the version of the workspace at `root`; throws if a package.json has a different one. */
export function readCommonVersion(root: string): string {
  const read = (folder: string): Manifest => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  const { version, workspaces } = read("") as Manifest & { workspaces: string[] };
  const others = workspaces.flatMap((folder) => {
    const manifest = read(folder);
    const own = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    return [
      ...(manifest.version === version ? [] : [`${folder}/package.json is ${manifest.version}`]),
      ...own.flatMap(([name, wanted]) =>
        name.startsWith("@tollgate/") && wanted !== version ? [`${folder}/package.json wants ${name} ${wanted}`] : [],
      ),
    ];
  });
  if (others.length === 0) return version;
  throw new Error(
    `package.json is ${version}, but ${others.join(", ")}: set all with npm version -ws --include-workspace-root`,
  );
}
