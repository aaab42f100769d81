/**
 * Provides what a page's code blocks need: the Python environment and npm packages of e2e/clients in pinned versions,
 * and programs that this machine may lack. If something is missing, the blocks that need it are skipped with the
 * reason.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { CodeBlock } from "../../tools/doc-tests/read-page.ts";
import { isOnPath } from "../../tools/install-test-servers.ts";
import {
  explainMissingPackages,
  installPackagesSeparately,
  installPythonForDocs,
  type PythonInstallation,
} from "../clients/install-clients.ts";

const PIP = ["pip", "pip3"];
const PYTHON = ["python", "python3", ...PIP];

/** Programs that the page's reader has, but the test machine may lack. */
const PROGRAMS = [
  ...["docker", "helm", "kubectl", "systemctl", "sudo", "psql", "pg_dump", "pg_restore", "nats-server", "nats", "nsc"],
  ...["redis-server", "valkey-server", "nginx", "haproxy", "caddy", "envoy", "prometheus", "ollama", "llama-server"],
  ...["vllm", "uv", "uvx", "curl", "openssl"],
];

/** Commands that succeed only if the service behind the program runs. */
const PROBES: Record<string, string[]> = { docker: ["info"], kubectl: ["version"], systemctl: ["list-units"] };

export interface DocPackages {
  /** The Python environment. Programs that pip installs are in the folder of the interpreter. */
  python: PythonInstallation | undefined;
  /** A folder with npm packages that the repository does not install. */
  npm: { folder: string } | { missing: string } | undefined;
}

export async function installPackagesFor(blocks: CodeBlock[], root: string): Promise<DocPackages> {
  const usesPip = blocks.flatMap(listCommands).some((name) => PIP.includes(name));
  return {
    python: blocks.some(needsPython) ? await once(`python ${usesPip}`, () => pythonFor(usesPip)) : undefined,
    npm: beyondCheckout(blocks, root).length > 0 ? await once("npm", installPackagesSeparately) : undefined,
  };
}

/** If a page uses pip and pip cannot install here, all Python blocks are skipped: they need what pip installs. */
async function pythonFor(usesPip: boolean): Promise<PythonInstallation> {
  const python = await once("python", installPythonForDocs);
  if (!usesPip || "missing" in python) return python;
  const missing = await explainMissingPackages(python.interpreter);
  return missing === undefined ? python : { missing };
}

const installs = new Map<string, Promise<unknown>>();

/** Installs once, also for pages that run at the same time. */
function once<T>(name: string, install: () => Promise<T>): Promise<T> {
  const running = (installs.get(name) as Promise<T> | undefined) ?? install();
  installs.set(name, running);
  return running;
}

/** Returns why a block cannot run on this machine; undefined if it can. */
export function explainSkip(block: CodeBlock, { python, npm }: DocPackages, root: string): string | undefined {
  if (needsPython(block) && python !== undefined && "missing" in python) return python.missing;
  if (npm !== undefined && "missing" in npm && beyondCheckout([block], root).length > 0) return npm.missing;
  return listCommands(block)
    .filter((name) => PROGRAMS.includes(name))
    .map(whyUnusable)
    .find((why) => why !== undefined);
}

function whyUnusable(name: string): string | undefined {
  if (!isOnPath(name)) return `${name} is not installed`;
  const probe = PROBES[name];
  if (probe === undefined || spawnSync(name, probe, { stdio: "ignore" }).status === 0) return undefined;
  return `${name} is installed and does not work here (${name} ${probe.join(" ")} fails)`;
}

const needsPython = (block: CodeBlock): boolean =>
  block.language === "python" || listCommands(block).some((name) => PYTHON.includes(name));

/** The first word of each command in a shell block. */
export function listCommands({ language, text }: CodeBlock): string[] {
  if (language !== "sh") return [];
  const found = text.matchAll(/(?:^|[|;&(])[ \t]*(?:\w+=\S*[ \t]+)*([A-Za-z][\w.-]*)/gm);
  return [...found].map(([, name = ""]) => name);
}

/** Packages that the page's TypeScript blocks import, but the repository does not install. */
function beyondCheckout(blocks: CodeBlock[], root: string): string[] {
  const imported = blocks
    .filter(({ language }) => language === "ts")
    .flatMap(({ text }) => [...text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)"([^".][^"]*)"/g)])
    .map(([, name = ""]) => name)
    .filter((name) => !name.startsWith("node:"))
    .map((name) => (/^(?:@[^/]+\/)?[^/]+/.exec(name) as RegExpExecArray)[0]);
  return imported.filter((name) => !existsSync(join(root, "node_modules", name)));
}
