/**
 * Finds the tests that a change affects, by imports: those with the shortest chain of imports first. Also finds tests
 * that need no server, which can run at any time.
 */
import { spawnSync } from "node:child_process";
import { isTestOrHelper as isTestCode, resolveImport } from "./imports.ts";

/** Maps each source file to the files that it imports, by their paths from the root. */
type Graph = Map<string, Set<string>>;

const LOADED =
  /(?:^|\n)\s*(?:import|export)\b[^"'`;]*?\bfrom\s*["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)|(?:^|\n)\s*import\s*["']([^"']+)["']|new URL\(\s*["'](\.[^"']+)["']\s*,\s*import\.meta\.url/g;

export function buildImportGraph(sources: Map<string, string>): Graph {
  return new Map(
    [...sources].map(([file, source]) => {
      const specifiers = [...source.matchAll(LOADED)].map((match) =>
        match.slice(1).find((found) => found !== undefined),
      );
      const loaded = specifiers.flatMap((specifier) => resolveImport(file, specifier ?? "") ?? []);
      return [file, new Set(loaded)];
    }),
  );
}

export const isTestFile = (file: string): boolean => /\.test\.tsx?$/.test(file);

/**
 * Returns the test files that import one of the changed files, directly or through other files: those with the shortest
 * chain first. A changed test comes before all others.
 */
export function findAffectedTests(graph: Graph, changed: readonly string[]): string[] {
  const importers = new Map<string, string[]>();
  for (const [file, loaded] of graph) {
    for (const target of loaded) importers.set(target, [...(importers.get(target) ?? []), file]);
  }
  const reached = new Set(changed.filter((file) => graph.has(file) || importers.has(file)));
  // A Set iterates in insertion order, including elements added meanwhile, so the search is breadth-first.
  for (const file of reached) for (const importer of importers.get(file) ?? []) reached.add(importer);
  return [...reached].filter((file) => isTestFile(file) && graph.has(file));
}

/**
 * Matches the paths of test code that starts a database or broker, and the imports with which code starts a process or
 * browser.
 */
const STARTS_SERVERS =
  /^gateway\/src\/(db|limits|plane\/nats)\/testing(-[\w-]+)?(\/|\.ts$)|^(e2e|chaos|engines)\/|^tools\/(go-builds|servers)\.ts$/;
const STARTS_PROCESSES =
  /["']node:child_process["']|["']playwright-core["']|node-llama-cpp|["']node:worker_threads["']/;

/**
 * Returns whether a test needs only its own process: neither the test nor the test code that it imports starts
 * anything.
 */
export function needsNoServer(graph: Graph, sources: Map<string, string>, test: string): boolean {
  const reached = new Set([test]);
  for (const file of reached) {
    if (STARTS_SERVERS.test(file)) return false;
    const isCode = isTestCode(file) || file.startsWith("stage/");
    if (isCode && STARTS_PROCESSES.test(sources.get(file) ?? "")) return false;
    for (const loaded of graph.get(file) ?? []) reached.add(loaded);
  }
  return true;
}

/** Returns the files that differ from the last commit and, on a branch with an upstream, from the upstream. */
export function changedFiles(root: string): string[] {
  const git = (...args: string[]): string[] => {
    const { status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
    return status === 0 ? stdout.split("\n").filter((line) => line !== "") : [];
  };
  const [upstream] = git("merge-base", "HEAD", "@{upstream}");
  return [
    ...new Set([
      ...git("diff", "--name-only", upstream ?? "HEAD"),
      ...git("ls-files", "--others", "--exclude-standard"),
    ]),
  ];
}
