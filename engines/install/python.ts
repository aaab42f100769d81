/**
 * Makes a virtual environment with packages of PyPI for each engine on first use. Engines are started as modules
 * (`python -m`): scripts in an environment contain its absolute path, and would fail after the cache is moved.
 */
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ENGINE_CACHE_DIRECTORY } from "./cache.ts";
import { failureReason, runCommand } from "./command.ts";

const UV = "uv==0.13.7";

interface PythonPackages {
  /** The name of the folder with the engine's environment. */
  name: string;
  packages: string[];
  /** Versions to install even if the packages require others. */
  overrides?: string[];
}

/** Installs the packages. Returns why that is not possible; undefined once they are installed. */
export async function installPython({ name, packages, overrides = [] }: PythonPackages): Promise<string | undefined> {
  const home = join(ENGINE_CACHE_DIRECTORY, name);
  const stamp = join(home, ".tollgate-install");
  const wanted = JSON.stringify({ packages, overrides });
  if (existsSync(stamp) && (await readFile(stamp, "utf8")) === wanted) return undefined;
  const uv = await ensureUv();
  if ("missing" in uv) return uv.missing;
  console.log(`  installing ${packages.join(" ")} (once; gigabytes where PyTorch is part of it)…`);
  await rm(home, { recursive: true, force: true });
  const venv = await runCommand("python3", ["-m", "venv", home]);
  if (venv.code !== 0) return `python3 cannot make a virtual environment: ${failureReason(venv)}`;
  const overrideFile = join(home, "overrides.txt");
  await writeFile(overrideFile, overrides.join("\n"));
  const into = ["--python", join(home, "bin", "python"), "--override", overrideFile];
  const installed = await runCommand(uv.command, ["pip", "install", ...into, ...packages], {
    env: { UV_CACHE_DIR: join(ENGINE_CACHE_DIRECTORY, "uv-cache"), UV_HTTP_TIMEOUT: "300" },
  });
  if (installed.code !== 0) return `pip: ${failureReason(installed)}`;
  await writeFile(stamp, wanted);
  return undefined;
}

/** Environments share packages through the cache of the installer uv, so that PyTorch is on the disk only once. */
async function ensureUv(): Promise<{ command: string } | { missing: string }> {
  const home = join(ENGINE_CACHE_DIRECTORY, "uv");
  const command = join(home, "bin", "uv");
  if (existsSync(command)) return { command };
  await mkdir(ENGINE_CACHE_DIRECTORY, { recursive: true });
  const venv = await runCommand("python3", ["-m", "venv", home]);
  if (venv.code !== 0) return { missing: `python3 cannot make a virtual environment: ${failureReason(venv)}` };
  const pip = await runCommand(join(home, "bin", "pip"), ["install", "--quiet", UV]);
  return pip.code === 0 ? { command } : { missing: `pip cannot install ${UV}: ${failureReason(pip)}` };
}
