/**
 * Unpacks programs of a newer Debian than this machine's, for suites that depend on their version. apt downloads the
 * packages and checks their signatures. Each program is unpacked with its libraries and run by the dynamic loader among
 * them, so nothing is installed.
 */
import { execFile } from "node:child_process";
import { existsSync, globSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildBinaryOnce, cacheFolder } from "./go-builds.ts";

const RELEASE = "trixie";
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
const DOWNLOAD_MS_MAX = 600_000;

/** The packages of pgbouncer 1.24 and of all its libraries. */
const PGBOUNCER = [
  ...["pgbouncer", "libc6", "libcares2", "libevent-2.1-7t64", "libssl3t64", "libpam0g", "libsystemd0"],
  ...["libcap2", "libaudit1", "libcap-ng0", "libzstd1", "zlib1g"],
];
const TREE = join(cacheFolder("debian-packages"), `pgbouncer-${RELEASE}`);

/**
 * Returns the beginning of a command line that runs pgbouncer; undefined if it has not been unpacked on this machine.
 */
export function findPgbouncerCommand(): string[] | undefined {
  const binary = join(TREE, "usr/sbin/pgbouncer");
  const [loader] = globSync(join(TREE, "usr/lib*/ld-linux-*.so.*"));
  if (!existsSync(binary) || loader === undefined) return undefined;
  return [loader, "--library-path", globSync(join(TREE, "usr/lib/*-linux-gnu")).join(":"), binary];
}

/** Unpacks pgbouncer. If that fails, returns a line that describes which tests are left out. */
export async function unpackNewerPgbouncer(): Promise<string[]> {
  const why = await buildBinaryOnce(TREE, "tree", (folder) => unpack(PGBOUNCER, folder));
  return why === undefined ? [] : [`left out: the gateway behind pgbouncer of Debian ${RELEASE} (${why})`];
}

/** Unpacks the packages into the subfolder `tree` of `folder`. Returns the reason if it failed. */
async function unpack(packages: string[], folder: string): Promise<string | undefined> {
  const at = (...names: string[]): string => join(folder, ...names);
  for (const name of ["tree", "debs", "lists/partial", "cache/archives/partial"])
    mkdirSync(at(name), { recursive: true });
  writeFileSync(at("sources.list"), `deb [signed-by=${KEYRING}] http://deb.debian.org/debian ${RELEASE} main\n`);
  writeFileSync(at("status"), "");
  const settings = {
    "Dir::Etc::SourceList": at("sources.list"),
    "Dir::Etc::SourceParts": "-",
    "Dir::State::Lists": at("lists"),
    "Dir::State::status": at("status"),
    "Dir::Cache": at("cache"),
    // If this process runs as root, apt would switch to another user, who has no permission to write here.
    "APT::Sandbox::User": process.getuid?.() === 0 ? "root" : "",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  const run = promisify(execFile);
  try {
    for (const args of [["update"], ["download", ...packages]])
      await run("apt-get", [...options, "-qq", ...args], { cwd: at("debs"), timeout: DOWNLOAD_MS_MAX });
    for (const file of globSync(at("debs/*.deb"))) await run("dpkg-deb", ["--extract", file, at("tree")]);
    return undefined;
  } catch (error) {
    const { code, path, stderr = "", message } = error as NodeJS.ErrnoException & { stderr?: string };
    if (code === "ENOENT") return `${path} is not installed`;
    return `apt could not download it: ${stderr.trim().split("\n").at(-1) || message}`;
  }
}
