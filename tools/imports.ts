/** Reads the sources' own imports: who imports whom, and which rule of ARCHITECTURE.md an import breaks. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
  /** The names that exist at run time, as the imported file has them. */
  values: string[];
}

const STATEMENT =
  /(?:^|\n)\s*(import|export)(\s+type)?([^"'`;]*?)from\s*["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)/g;
const PACKAGES: Record<string, string> = { "@tollgate/api/": "api/src/", "@tollgate/protocol/": "protocol/src/" };
/** Of the other parts, what each may import, and of which it may import types alone. */
const PARTS: Record<string, { any: string[]; types: string[] }> = {
  api: { any: [], types: [] },
  protocol: { any: [], types: [] },
  gateway: { any: ["api", "protocol"], types: [] },
  host: { any: ["protocol"], types: ["api"] },
  console: { any: [], types: ["api"] },
};

/** Every import between files of ours, as paths from the root. Of tests only those of api, which imports nothing of ours. */
export function readImports(root: string): Import[] {
  const files = globSync(`{${Object.keys(PARTS).join(",")}}/src/**/*.{ts,tsx}`, { cwd: root });
  return files
    .filter((file) => !isTest(file) || file.startsWith("api/"))
    .flatMap((file) => importsOf(file, readFileSync(join(root, file), "utf8")));
}

export const isTest = (file: string): boolean => /\.test\.tsx?$|\/testing(\/|\.ts$)/.test(file);

export function importsOf(file: string, source: string): Import[] {
  const found: Import[] = [];
  for (const match of source.matchAll(STATEMENT)) {
    const [, , type, clause = "*", specifier, imported] = match;
    const to = resolve(file, specifier ?? imported ?? "");
    const typeOnly = type !== undefined;
    if (to !== undefined) found.push({ from: file, to, typeOnly, values: typeOnly ? [] : valuesIn(clause) });
  }
  return found;
}

/** `{ a, type B, c as d }` → a, c; `* as x` and `import()` → *. */
function valuesIn(clause: string): string[] {
  const names = (/\{([^}]*)\}/.exec(clause)?.[1] ?? "").split(",").map((name) => name.trim());
  const values = names.filter((name) => name !== "" && !name.startsWith("type "));
  return [...values.map((name) => name.split(/\s+as\s+/)[0] ?? ""), ...(clause.includes("*") ? ["*"] : [])];
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
  ["build"],
  ["assemble"],
  ["http"],
  ["trust"],
  ["inference", "payments", "operators"],
  ["keys", "limits", "metering", "ledger", "dispatch", "fleet", "history", "accounts"],
  ["db"],
  ["base"],
];
/** Files beside the folders, and who may see them. */
const LOOSE: Record<string, string[]> = {
  config: ["commands", "build"],
  faults: ["http", "inference", "payments", "build"],
  "server-secrets": ["build", "commands"],
};

/** Why an import is not allowed; undefined when it is. */
export function forbidden({ from, to, typeOnly, values }: Import): string | undefined {
  const [fromPart = "", toPart = ""] = [from.split("/")[0], to.split("/")[0]];
  if (fromPart !== toPart) return forbiddenPart(fromPart, toPart, typeOnly);
  if (fromPart !== "gateway") return undefined;
  if (to === FAULTS && HANDLERS.test(from) && !OTHER_FAULTS.includes(from)) {
    const others = values.filter((name) => name !== "invalidRequest");
    if (others.length > 0)
      return `a handler refuses with what its route declares (refuse), not with ${others.join(", ")}`;
  }
  const [a, b] = [room(from), room(to)];
  if (a === b) return undefined;
  const loose = LOOSE[b];
  if (loose !== undefined) return loose.includes(a) ? undefined : `${b}.ts is for ${loose.join(", ")}`;
  const levelOf = (name: string): number => LEVELS.findIndex((names) => names.includes(name));
  if (LOOSE[a] !== undefined) return b === "base" ? undefined : `${a}.ts imports base only`;
  if (levelOf(a) < 0 || levelOf(b) < 0) return `${levelOf(a) < 0 ? a : b} has no place in the import rules`;
  return levelOf(a) < levelOf(b) ? undefined : `${a} may not import ${b}`;
}

/** Handlers of declared routes refuse by the function they are given, which knows the route's own faults and no others. */
const FAULTS = "gateway/src/faults.ts";
const HANDLERS = /^gateway\/src\/http\/(console|nodes)\//;
const OTHER_FAULTS = [
  // Where credits are not sold, one handler answers for all their routes.
  "gateway/src/http/console/credits.ts",
  // Feeds that many handlers share.
  "gateway/src/http/console/live.ts",
  // Its refusals are declared by reason, several to a code.
  "gateway/src/http/console/sign-in.ts",
  // Files, which are no routes of an API.
  "gateway/src/http/console/static.ts",
];

function forbiddenPart(from: string, to: string, typeOnly: boolean): string | undefined {
  const { any, types } = PARTS[from] ?? { any: [], types: [] };
  if (any.includes(to) || (typeOnly && types.includes(to))) return undefined;
  const allowed = [...any, ...types.map((part) => `types of ${part}`)];
  return `${from} imports ${allowed.length === 0 ? "nothing" : `only ${allowed.join(" and ")}`} of the other parts`;
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
