/**
 * Builds a release's files: a tarball and a bill of materials for each package, the demo model, checksums, and the
 * release notes.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { collectLicences, createBillOfMaterials } from "./bill-of-materials.ts";
import { compilePackage } from "./compile.ts";
import { type Manifest, makeManifest, PACKAGES, type PackageSpec, type SourceRepository } from "./packages.ts";

const DEMO_MODEL = "host/models/tollgate-demo.gguf";

interface Job {
  root: string;
  /** The output folder. It is emptied first. */
  out: string;
  version: string;
  origin: SourceRepository;
}

/** Builds the files of a release and returns their names. */
export async function buildRelease(job: Job): Promise<string[]> {
  const { root, out, version } = job;
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const files: string[] = [];
  for (const spec of PACKAGES) {
    const bill = `${spec.name}-${version}.cdx.json`;
    const subject = { name: spec.name, version };
    writeFileSync(
      join(out, bill),
      `${JSON.stringify(createBillOfMaterials(root, spec.materials, subject), null, 2)}\n`,
    );
    files.push(await packPackage(spec, job), bill);
  }
  copyFileSync(join(root, DEMO_MODEL), join(out, basename(DEMO_MODEL)));
  files.push(basename(DEMO_MODEL));
  const sums = files.map(
    (file) =>
      `${createHash("sha256")
        .update(readFileSync(join(out, file)))
        .digest("hex")}  ${file}\n`,
  );
  writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
  return [...files, "SHA256SUMS"];
}

/** Packs one package and returns the name of its tarball. */
export async function packPackage(spec: PackageSpec, { root, out, version, origin }: Job): Promise<string> {
  const folder = join(out, "packages", spec.name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const workspace: Manifest = readJson(join(root, spec.workspace, "package.json"));
  const { imported } = await compilePackage(spec, root, folder);
  const { dependencies, optionalDependencies, peerDependencies } = workspace;
  const known = { ...optionalDependencies, ...peerDependencies, ...(spec.carriesDependencies ? {} : dependencies) };
  const unknown = imported.filter((name) => known[name] === undefined);
  if (unknown.length > 0) throw new Error(`${spec.workspace}/package.json does not name ${unknown.join(", ")}`);
  copyFiles(spec, root, folder);
  const carried = spec.carried.map((name) => createBillOfMaterials(root, [name], { name, version }));
  writeFileSync(join(folder, "THIRD-PARTY"), collectLicences(root, carried));
  writeJson(join(folder, "package.json"), makeManifest(spec, workspace, origin));
  const packed: [{ filename: string }] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--loglevel=error", "--pack-destination", out], {
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 16 << 20,
      shell: process.platform === "win32",
    }),
  );
  return packed[0].filename;
}

function copyFiles(spec: PackageSpec, root: string, folder: string): void {
  const found = spec.files.map((pattern) =>
    globSync(pattern, { cwd: root }).filter((file) => isFile(join(root, file))),
  );
  found.forEach((files, i) => {
    if (files.length === 0)
      throw new Error(`${spec.name}: there is nothing at ${spec.files[i]}; are console and guide built?`);
  });
  for (const file of [...found.flat(), "LICENSE", "NOTICE"]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
  copyFileSync(join(root, "tools", "release", `${spec.name}.md`), join(folder, "README.md"));
  // A package with the repository's layout also gets a package.json in the workspace's folder, because the sources read
  // their version from it.
  const own = join(folder, spec.workspace, "package.json");
  if (spec.base === "") {
    const { version, optionalDependencies, peerDependencies } = readJson<Manifest>(
      join(root, spec.workspace, "package.json"),
    );
    writeJson(own, { name: spec.name, version, type: "module", private: true, optionalDependencies, peerDependencies });
  }
}

const isFile = (path: string): boolean => statSync(path).isFile();
const readJson = <T>(file: string): T => JSON.parse(readFileSync(file, "utf8"));
const writeJson = (file: string, value: object): void => writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
