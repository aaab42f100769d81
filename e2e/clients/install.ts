/**
 * Installs the clients on demand. They are not workspaces of the repository, so that `npm start` does not install them. If an installation
 * fails, the reason is returned and the suite lists the client as left out.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildOnce, cacheFolder } from "../../tools/go-builds.ts";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const UNREACHABLE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b/;
const PIP_UNREACHABLE = /No matching distribution found|NewConnectionError|ConnectTimeout|Connection refused|timed out/;

let packages: Promise<string | undefined> | undefined;

/** Why the npm packages are missing; undefined once they are installed. Concurrent callers share the installation. */
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

/** Why the registry does not give what the lockfile in that folder names; undefined once it is installed. */
async function npmCi(folder: string): Promise<string | undefined> {
  const quick = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"];
  const npm = await run("npm", ["ci", "--ignore-scripts", "--loglevel=error", ...quick], folder);
  if (npm.code === 0) return undefined;
  const cause = UNREACHABLE.exec(npm.output)?.[1];
  if (cause === undefined) throw new Error(`npm ci failed in ${folder}:\n${npm.output}`);
  return `the npm registry cannot be reached (${cause})`;
}

/** The same packages in a folder of their own, for suites that run at the same time: its path, or why there is none. */
export async function installPackagesApart(): Promise<{ folder: string } | { missing: string }> {
  const folder = join(cacheFolder("clients-npm"), (await digestOf("package-lock.json")).slice(0, 16), "node_modules");
  const missing = await buildOnce(folder, "node_modules", async (fresh) => {
    for (const name of ["package.json", "package-lock.json"]) await copyFile(at(name), join(fresh, name));
    return await npmCi(fresh);
  });
  return missing === undefined ? { folder } : { missing };
}

/** The interpreter that has a Python client, or why there is none. */
export type Python = { interpreter: string } | { missing: string };

const environment = (name: string): string => at(`../../.cache/clients/${name}`);

/** The official package, for the suite of `npm test`. */
export const installPython = (): Promise<Python> =>
  installEnvironment(environment("openai"), ["-r", at("requirements.txt")], "requirements.txt");

/** The same for the guides' blocks, which may install into it. */
export const installForDocs = (): Promise<Python> =>
  installEnvironment(environment("docs"), ["-r", at("requirements.txt")], "requirements.txt");

/** What the examples ask for, as a builder would install it. */
export const installExamples = (): Promise<Python> => {
  const pins = "../../examples/python/requirements.txt";
  return installEnvironment(environment("examples"), ["-r", at(pins)], pins);
};

/**
 * What `python/NAME.txt` pins, into an environment of its own under `.cache/clients`. The file names every package, also
 * those that others bring: what a program can do without (and is large) is not in it.
 */
export const installProgram = (name: string): Promise<Python> =>
  installEnvironment(environment(name), ["--no-deps", "-r", at(`python/${name}.txt`)], `python/${name}.txt`);

const environments = new Map<string, Promise<Python>>();

/** Programs that share an environment wait for the same install. */
function installEnvironment(home: string, what: string[], pins: string): Promise<Python> {
  const installing = environments.get(home) ?? makeEnvironment(home, what, pins);
  environments.set(home, installing);
  return installing;
}

async function makeEnvironment(home: string, what: string[], pins: string): Promise<Python> {
  const interpreter = process.platform === "win32" ? `${home}/Scripts/python.exe` : `${home}/bin/python`;
  const stamp = `${home}/.tollgate-install`;
  const wanted = await digestOf(pins);
  if ((await readIfThere(stamp)) === wanted) return { interpreter };
  await rm(home, { recursive: true, force: true });
  await mkdir(dirname(home), { recursive: true });
  const venv = await run("python3", ["-m", "venv", home]);
  if (venv.code !== 0) return { missing: `python3 cannot make a virtual environment (${lastLine(venv.output)})` };
  const missing = await runPip(interpreter, ["install", "--quiet", ...what]);
  if (missing !== undefined) return { missing };
  await writeFile(stamp, wanted);
  return { interpreter };
}

/** Why `pip install` would find nothing here. */
export const whyNoPackages = (interpreter: string): Promise<string | undefined> =>
  runPip(interpreter, ["index", "versions", "openai"]);

/** Why the index does not give what is asked for; undefined once it did. */
async function runPip(interpreter: string, args: string[]): Promise<string | undefined> {
  const limits = ["--disable-pip-version-check", "--retries", "1", "--timeout", "15"];
  const pip = await run(interpreter, ["-m", "pip", ...args, ...limits]);
  if (pip.code === 0) return undefined;
  if (!PIP_UNREACHABLE.test(pip.output)) throw new Error(`pip failed in e2e/clients:\n${pip.output}`);
  return "pip cannot reach its index, or the index does not have the version";
}

/** What package.json pins a client to: `4.104.0` for `npm:openai@4.104.0`. */
export async function pinnedVersions(): Promise<(packageName: string) => string> {
  const { dependencies } = JSON.parse(await readFile(at("package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  return (packageName) => (dependencies[packageName] ?? "").replace(/^npm:.*@/, "");
}

/** The version of a package that a file of pins names. */
export async function pinnedPython(packageName: string, file = "requirements.txt"): Promise<string> {
  const pins = await readFile(at(file), "utf8");
  return new RegExp(`^${packageName}(?:\\[.*\\])?==(\\S+)`, "m").exec(pins)?.[1] ?? "";
}

export async function run(command: string, args: string[], cwd = at(".")): Promise<{ code: number; output: string }> {
  // Only npm is a script there that needs a shell.
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
