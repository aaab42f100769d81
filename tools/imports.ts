/** Reads the sources' own imports: who imports whom, and which rule of ARCHITECTURE.md an import breaks. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
}

const STATEMENT =
  /(?:^|\n)\s*(import|export)(\s+type)?[^"'`;]*?from\s*["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)/g;
const PACKAGES: Record<string, string> = { "@tollgate/protocol/": "protocol/src/" };

/** Every import between files of ours, as paths from the root. */
export function readImports(root: string): Import[] {
  const files = globSync(["protocol/src/**/*.ts", "gateway/src/**/*.ts", "host/src/**/*.ts"], { cwd: root });
  return files
    .filter((file) => !isTest(file))
    .flatMap((file) => importsOf(file, readFileSync(join(root, file), "utf8")));
}

export const isTest = (file: string): boolean => /\.test\.ts$|\/testing(\/|\.ts$)/.test(file);

export function importsOf(file: string, source: string): Import[] {
  const found: Import[] = [];
  for (const match of source.matchAll(STATEMENT)) {
    const to = resolve(file, match[3] ?? match[4] ?? "");
    if (to !== undefined) found.push({ from: file, to, typeOnly: match[2] !== undefined });
  }
  return found;
}

/** The file that a specifier means, from the root; undefined where it is none of ours. */
export function resolve(file: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return normalize(join(dirname(file), specifier));
  for (const [name, folder] of Object.entries(PACKAGES)) {
    if (specifier.startsWith(name)) return folder + specifier.slice(name.length);
  }
  return undefined;
}

/** The folders of the gateway by level: a file may import its own folder and any level below it. */
const LEVELS: string[][] = [
  ["commands"],
  ["main"],
  ["build"],
  ["http"],
  ["trust"],
  ["inference", "payments", "operators"],
  ["keys", "limits", "metering", "ledger", "dispatch", "fleet", "history", "accounts"],
  ["db"],
  ["base"],
];
/** Files beside the folders, and who may see them. */
const LOOSE: Record<string, string[]> = {
  config: ["commands", "main", "build"],
  faults: ["http", "inference", "payments", "build"],
  "server-secrets": ["build", "commands"],
};

/** Why an import is not allowed; undefined when it is. */
export function forbidden({ from, to }: Import): string | undefined {
  const [fromPart, toPart] = [from.split("/")[0], to.split("/")[0]];
  if (fromPart !== toPart) {
    return toPart === "protocol" ? undefined : `${fromPart} imports only protocol of the other parts`;
  }
  if (fromPart !== "gateway") return undefined;
  const [a, b] = [room(from), room(to)];
  if (a === b) return undefined;
  const loose = LOOSE[b];
  if (loose !== undefined) return loose.includes(a) ? undefined : `${b}.ts is for ${loose.join(", ")}`;
  const levelOf = (name: string): number => LEVELS.findIndex((names) => names.includes(name));
  if (LOOSE[a] !== undefined) return b === "base" ? undefined : `${a}.ts imports base only`;
  if (levelOf(a) < 0 || levelOf(b) < 0) return `${levelOf(a) < 0 ? a : b} has no place in the import rules`;
  return levelOf(a) < levelOf(b) ? undefined : `${a} may not import ${b}`;
}

/** `gateway/src/ledger/rules.ts` → `ledger`; `gateway/src/build.ts` → `build`. */
function room(file: string): string {
  return (file.split("/")[2] as string).replace(/\.ts$/, "");
}

/** One cycle among the imports that exist at run time or in types, as the files along it. */
export function findCycle(imports: Import[]): string[] | undefined {
  const edges = Map.groupBy(imports, (edge) => edge.from);
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    path.push(file);
    for (const { to } of edges.get(file) ?? []) {
      const cycle = visit(to);
      if (cycle !== undefined) return cycle;
    }
    path.pop();
    done.add(file);
    return undefined;
  };
  for (const file of edges.keys()) {
    const cycle = visit(file);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
