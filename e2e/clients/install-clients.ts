/**
 * Installs the clients on demand. They are not workspaces of the repository, so that `npm start` does not install them.
 * If an installation fails, the reason is returned, and the suite leaves the client out.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildBinaryOnce, cacheFolder } from "../../tools/go-builds.ts";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const UNREACHABLE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b/;
const PIP_UNREACHABLE = /No matching distribution found|NewConnectionError|ConnectTimeout|Connection refused|timed out/;

let packages: Promise<string | undefined> | undefined;

/**
 * Returns why the npm packages could not be installed; undefined if they are. Concurrent callers share one
 * installation.
 */
export function installPackages(): Promise<string | undefined> {
  packages ??= runInstall();
  return packages;
}

async function runInstall(): Promise<string | undefined> {
  const stamp = at("node_modules/.tollgate-install");
  const wanted = await digestOf("package-lock.json");
  if ((await readIfThere(stamp)) === wanted) return undefined;
  const why = await npmCi(at("."));
  if (why === undefined) await writeFile(stamp, wanted);
  return why;
}

/** Returns why the packages of the folder's lockfile could not be installed; undefined if they are. */
async function npmCi(folder: string): Promise<string | undefined> {
  const quick = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"];
  const npm = await runInstallCommand("npm", ["ci", "--ignore-scripts", "--loglevel=error", ...quick], folder);
  if (npm.code === 0) return undefined;
  const cause = UNREACHABLE.exec(npm.output)?.[1];
  if (cause === undefined) throw new Error(`npm ci failed in ${folder}:\n${npm.output}`);
  return `the npm registry cannot be reached (${cause})`;
}

/**
 * Installs the packages of `installPackages` into a separate folder, for suites that run at the same time. Returns the
 * folder, or why the installation failed.
 */
export async function installPackagesSeparately(): Promise<{ folder: string } | { missing: string }> {
  const folder = join(cacheFolder("clients-npm"), (await digestOf("package-lock.json")).slice(0, 16), "node_modules");
  const missing = await buildBinaryOnce(folder, "node_modules", async (fresh) => {
    for (const name of ["package.json", "package-lock.json"]) await copyFile(at(name), join(fresh, name));
    return await npmCi(fresh);
  });
  return missing === undefined ? { folder } : { missing };
}

/** The Python interpreter of an environment with a client, or the reason why there is none. */
export type PythonInstallation = { interpreter: string } | { missing: string };

const environment = (name: string): string => at(`../../.cache/clients/${name}`);

/** Installs the official OpenAI package for Python, for the suite of `npm test`. */
export const installPython = (): Promise<PythonInstallation> =>
  installEnvironment(environment("openai"), ["-r", at("requirements.txt")], "requirements.txt");

/**
 * Installs the official package into a separate environment for the guides' code blocks, which may install more
 * packages into it.
 */
export const installPythonForDocs = (): Promise<PythonInstallation> =>
  installEnvironment(environment("docs"), ["-r", at("requirements.txt")], "requirements.txt");

/** Installs the requirements of the examples, as a builder would. */
export const installPythonForExamples = (): Promise<PythonInstallation> => {
  const pins = "../../examples/python/requirements.txt";
  return installEnvironment(environment("examples"), ["-r", at(pins)], pins);
};

/**
 * Installs the packages that `python/NAME.txt` pins into an environment of their own under `.cache/clients`. The file
 * lists all dependencies, except large optional ones.
 */
export const installProgram = (name: string): Promise<PythonInstallation> =>
  installEnvironment(environment(name), ["--no-deps", "-r", at(`python/${name}.txt`)], `python/${name}.txt`);

const environments = new Map<string, Promise<PythonInstallation>>();

/** Installs each environment once, for all programs that use it. */
function installEnvironment(home: string, what: string[], pins: string): Promise<PythonInstallation> {
  const installing = environments.get(home) ?? makeEnvironment(home, what, pins);
  environments.set(home, installing);
  return installing;
}

async function makeEnvironment(home: string, what: string[], pins: string): Promise<PythonInstallation> {
  const interpreter = process.platform === "win32" ? `${home}/Scripts/python.exe` : `${home}/bin/python`;
  const stamp = `${home}/.tollgate-install`;
  const wanted = await digestOf(pins);
  if ((await readIfThere(stamp)) === wanted) return { interpreter };
  await rm(home, { recursive: true, force: true });
  await mkdir(dirname(home), { recursive: true });
  const venv = await runInstallCommand("python3", ["-m", "venv", home]);
  if (venv.code !== 0) return { missing: `python3 cannot make a virtual environment (${lastLine(venv.output)})` };
  const missing = await runPip(interpreter, ["install", "--quiet", ...what]);
  if (missing !== undefined) return { missing };
  await writeFile(stamp, wanted);
  return { interpreter };
}

/** Returns why `pip install` cannot find packages on this machine; undefined if it can. */
export const explainMissingPackages = (interpreter: string): Promise<string | undefined> =>
  runPip(interpreter, ["index", "versions", "openai"]);

/** Runs pip. Returns why the package index lacks a package; undefined if it has all. */
async function runPip(interpreter: string, args: string[]): Promise<string | undefined> {
  const limits = ["--disable-pip-version-check", "--retries", "1", "--timeout", "15"];
  const pip = await runInstallCommand(interpreter, ["-m", "pip", ...args, ...limits]);
  if (pip.code === 0) return undefined;
  if (!PIP_UNREACHABLE.test(pip.output)) throw new Error(`pip failed in e2e/clients:\n${pip.output}`);
  return "pip cannot reach its index, or the index does not have the version";
}

/**
 * Returns a function that looks up the version to which package.json pins a client: `4.104.0` for `npm:openai@4.104.0`.
 */
export async function readPinnedVersions(): Promise<(packageName: string) => string> {
  const { dependencies } = JSON.parse(await readFile(at("package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  return (packageName) => (dependencies[packageName] ?? "").replace(/^npm:.*@/, "");
}

/** The version to which a requirements file pins a package. */
export async function readPinnedPythonVersion(packageName: string, file = "requirements.txt"): Promise<string> {
  const pins = await readFile(at(file), "utf8");
  return new RegExp(`^${packageName}(?:\\[.*\\])?==(\\S+)`, "m").exec(pins)?.[1] ?? "";
}

export async function runInstallCommand(
  command: string,
  args: string[],
  cwd = at("."),
): Promise<{ code: number; output: string }> {
  // On Windows, npm is a script that needs a shell.
  const shell = process.platform === "win32" && command === "npm";
  const child = spawn(command, args, { cwd, shell, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  return await new Promise((resolve) => {
    child.once("error", (error) => resolve({ code: 1, output: error.message }));
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

const lastLine = (text: string): string => text.trimEnd().split("\n").at(-1) ?? "";

async function digestOf(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(at(file)))
    .digest("hex");
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
