/**
 * What the blocks of a page need installed: the Python environment and the npm packages of e2e/clients, in their pinned versions, and
 * programs that may not be on this machine. What cannot be had is a reason, and the blocks that need it are left out by name.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Block } from "../../tools/doc-tests/page.ts";
import { isOnPath } from "../../tools/servers.ts";
import { installForDocs, installPackagesApart, type Python, whyNoPackages } from "../clients/install.ts";

const PIP = ["pip", "pip3"];
const PYTHON = ["python", "python3", ...PIP];

/** Programs that a reader of the page has, and a machine that runs the tests may not have. */
const PROGRAMS = [
  ...["docker", "helm", "kubectl", "systemctl", "sudo", "psql", "pg_dump", "pg_restore", "nats-server", "nats", "nsc"],
  ...["redis-server", "valkey-server", "nginx", "haproxy", "caddy", "envoy", "prometheus", "ollama", "llama-server"],
  ...["vllm", "uv", "uvx", "curl", "openssl"],
];

/** Of those that talk to a service of the machine: what shows that it is there. */
const PROBES: Record<string, string[]> = { docker: ["info"], kubectl: ["version"], systemctl: ["list-units"] };

export interface Packages {
  /** With `bin` beside the interpreter. */
  python: Python | undefined;
  /** A folder of npm packages beyond those of the checkout. */
  npm: { folder: string } | { missing: string } | undefined;
}

export async function installFor(blocks: Block[], root: string): Promise<Packages> {
  const usesPip = blocks.flatMap(commandsIn).some((name) => PIP.includes(name));
  return {
    python: blocks.some(needsPython) ? await once(`python ${usesPip}`, () => pythonFor(usesPip)) : undefined,
    npm: beyondCheckout(blocks, root).length > 0 ? await once("npm", installPackagesApart) : undefined,
  };
}

/** Blocks that follow a `pip install` need what it installs: they are left out together. */
async function pythonFor(usesPip: boolean): Promise<Python> {
  const python = await once("python", installForDocs);
  if (!usesPip || "missing" in python) return python;
  const missing = await whyNoPackages(python.interpreter);
  return missing === undefined ? python : { missing };
}

const installs = new Map<string, Promise<unknown>>();

/** Pages that run at the same time wait for the same install. */
function once<T>(name: string, install: () => Promise<T>): Promise<T> {
  const running = (installs.get(name) as Promise<T> | undefined) ?? install();
  installs.set(name, running);
  return running;
}

/** Why a block cannot run here. */
export function whyLeftOut(block: Block, { python, npm }: Packages, root: string): string | undefined {
  if (needsPython(block) && python !== undefined && "missing" in python) return python.missing;
  if (npm !== undefined && "missing" in npm && beyondCheckout([block], root).length > 0) return npm.missing;
  return commandsIn(block)
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

const needsPython = (block: Block): boolean =>
  block.language === "python" || commandsIn(block).some((name) => PYTHON.includes(name));

/** The first words of a shell block's commands. */
export function commandsIn({ language, text }: Block): string[] {
  if (language !== "sh") return [];
  const found = text.matchAll(/(?:^|[|;&(])[ \t]*(?:\w+=\S*[ \t]+)*([A-Za-z][\w.-]*)/gm);
  return [...found].map(([, name = ""]) => name);
}

/** The packages that TypeScript blocks import and the checkout does not have. */
function beyondCheckout(blocks: Block[], root: string): string[] {
  const imported = blocks
    .filter(({ language }) => language === "ts")
    .flatMap(({ text }) => [...text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)"([^".][^"]*)"/g)])
    .map(([, name = ""]) => name)
    .filter((name) => !name.startsWith("node:"))
    .map((name) => (/^(?:@[^/]+\/)?[^/]+/.exec(name) as RegExpExecArray)[0]);
  return imported.filter((name) => !existsSync(join(root, "node_modules", name)));
}
