/** Reads the sources' own imports: who imports whom, and which rule of ARCHITECTURE.md an import breaks. */
import { dirname, join, normalize } from "node:path";
import { readSources } from "./sources.ts";

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
  /** The names that exist at run time, as the imported file has them. */
  values: string[];
}

const STATEMENT =
  /(?:^|\n)\s*(import|export)(\s+type)?([^"'`;]*?)from\s*["']([^"']+)["']|(?:import\(\s*|(?:^|\n)\s*import\s*)["']([^"']+)["']/g;
const PACKAGES: Record<string, string> = {
  "@tollgate/api/": "api/src/",
  "@tollgate/protocol/": "protocol/src/",
  "@tollgate/terminal/": "terminal/src/",
  "@tollgate/demo-provider/": "demo-provider/src/",
  "@tollgate/stage/": "stage/",
};
/** What a part may import from the other parts. An entry is a part, or a folder or file of one. */
interface Allowed {
  any: string[];
  /** Only by `import type`. */
  types?: string[];
  /** Only by the part's test code. */
  tests?: string[];
}
const ofGateway = (...folders: string[]): string[] => folders.map((folder) => `gateway/src/${folder}`);
export const PARTS: Record<string, Allowed> = {
  // The product.
  api: { any: [] },
  protocol: { any: [] },
  terminal: { any: [] },
  "demo-provider": { any: ["protocol"], tests: ["stage/wait.ts"] },
  gateway: {
    // Of product code, the dev command alone imports the demo provider (`forbidden`).
    any: ["api", "protocol", "terminal", "demo-provider"],
    tests: ["stage/wait.ts", "stage/process.ts", "tools/nats-servers.ts"],
  },
  host: {
    any: ["protocol", "terminal"],
    types: ["api"],
    // Tests compare the agent's reference counts with the gateway's meters.
    tests: ["stage/wait.ts", ...ofGateway("metering", "plane/hub/testing-certificate.ts")],
  },
  console: { any: [], types: ["api"], tests: ["stage/wait.ts"] },
  examples: { any: [] },
  deploy: { any: [] },

  // Commands that build and check the product.
  "gateway/tools": { any: ["gateway"] },
  "console/tools": { any: ["console"] },
  tools: {
    any: [
      "stage/wait.ts",
      // The API reference is built from the declarations.
      "api",
      // `tools/test.ts` starts the PostgreSQL server that tests share.
      ...ofGateway("db/testing.ts", "db/testing"),
      // The docs have the layout of the gateway's own pages, and parse Markdown as the console does.
      ...ofGateway("site/reference"),
      "console/src/ui/markdown",
      "tools/dashboards/dashboards.ts",
    ],
  },

  // Suites that run the product. They share code through stage/; a single folder or file of another suite is an exception.
  stage: { any: ["api", "protocol", "terminal", "gateway", "host", "tools"] },
  e2e: {
    any: [
      ...["api", "protocol", "terminal", "demo-provider", "host", "stage", "tools", "examples"],
      ...ofGateway(
        "accounts",
        "base",
        "commands",
        "db",
        "dispatch/frame-rates.ts",
        "plane",
        "ledger",
        "limits",
        // One enemy disputes what it bought.
        "payments/testing.ts",
        // The visual suites serve the pages of a gateway without the rest of it.
        "http/server.ts",
        "routes/testing/door.ts",
        "site",
      ),
      // A suite checks that the gateway exports every metric that the dashboards read.
      "tools/dashboards/dashboards.ts",
    ],
  },
  chaos: { any: ["stage", "tools", ...ofGateway("base", "db", "limits")] },
  sim: { any: ["protocol", "gateway", "stage"] },
  engines: { any: ["stage", "gateway/tools/tokenizers"] },
  // The gateway's checks on the agent's engines, without anything between them.
  "engines/spot-checks": {
    any: ["engines", "stage", "host", ...ofGateway("base", "dispatch", "metering", "trust")],
  },
  bench: {
    any: [
      ...["api", "protocol", "gateway", "host", "stage", "tools"],
      // bench measures the platforms, browsers and attacks that the end-to-end suites have.
      ...["e2e/console-client.ts", "e2e/console/browser.ts"],
      ...["e2e/console/lifelike", "e2e/hostile", "e2e/fuzz"],
    ],
  },
  // Draws the dashboards of a platform under the load and faults of chaos/, in the browser of e2e/.
  "tools/dashboards": { any: ["tools", "stage", "chaos", "e2e/console/browser.ts", "e2e/outside"] },
};

/** `gateway/src/base/money.ts` → `gateway`, `tools/dashboards/run.ts` → `tools/dashboards`. */
export function partOf(file: string): string {
  const [top = "", second = ""] = file.split("/");
  if (file === "console/vite.config.ts") return "console/tools";
  return PARTS[`${top}/${second}`] === undefined ? top : `${top}/${second}`;
}

/** Every import between files of ours, as paths from the root. */
export function readImports(root: string): Import[] {
  return [...readSources(root)].flatMap(([file, source]) => importsOf(file, source));
}

export const isTest = (file: string): boolean => /\.test\.tsx?$|\/(testing|fixtures)(-[\w-]+)?(\/|\.ts$)/.test(file);

/** Whether a file is part of what is shipped. */
const isProduct = (file: string): boolean =>
  /^(api|protocol|terminal|demo-provider|gateway|host|console)$/.test(partOf(file)) && !isTest(file);

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
  ["workers"],
  ["build"],
  ["assemble"],
  ["site"],
  ["routes"],
  ["http"],
  ["trust"],
  ["inference", "payments", "operators"],
  ["notifications"],
  ["keys", "limits", "metering", "ledger", "dispatch", "fleet", "history", "accounts"],
  ["plane"],
  ["db"],
  ["base"],
];
/** Files beside the folders, and who may see them. */
const LOOSE: Record<string, string[]> = {
  config: ["commands", "workers", "build"],
  faults: ["site", "routes", "http", "inference", "payments", "build"],
  "server-secrets": ["build", "workers", "commands"],
};

/** Where a folder declares its settings. */
const DECLARATIONS = /^gateway\/src\/\w+\/config\.ts$/;
/** A gateway in production never loads the demo provider. */
const DEV_COMMAND = /^gateway\/src\/commands\/dev/;

/** Why an import is not allowed; undefined when it is. */
export function forbidden(edge: Import): string | undefined {
  const { from, to, values } = edge;
  if (/\.test\.tsx?$/.test(to)) return "nothing may import a *.test.ts file";
  if (partOf(to) === "demo-provider" && from.startsWith("gateway/") && !isTest(from) && !DEV_COMMAND.test(from))
    return "only the dev command and tests may import the demo provider";
  if (partOf(from) !== partOf(to)) return forbiddenPart(edge);
  if (isProduct(from) && isTest(to)) return "product code may not import test code";
  if (!from.startsWith("gateway/src/") || isTest(from)) return undefined;
  if (to === FAULTS && HANDLERS.test(from) && !OTHER_FAULTS.includes(from)) {
    const others = values.filter((name) => !["breaksRule", "invalidRequest"].includes(name));
    if (others.length > 0)
      return `a handler refuses with what its route declares (refuse), not with ${others.join(", ")}`;
  }
  const [a, b] = [room(from), room(to)];
  if (a === b) return undefined;
  const loose = LOOSE[b];
  if (loose !== undefined) return loose.includes(a) ? undefined : `${b}.ts is for ${loose.join(", ")}`;
  const levelOf = (name: string): number => LEVELS.findIndex((names) => names.includes(name));
  if (a === "config" && DECLARATIONS.test(to)) return undefined;
  if (LOOSE[a] !== undefined) return b === "base" ? undefined : `${a}.ts imports base only`;
  // Every command reads the declarations, also those that need nothing else of the folder.
  if (DECLARATIONS.test(from) && b !== "base") return "a folder's config.ts imports base and its own folder only";
  if (levelOf(a) < 0 || levelOf(b) < 0) return `${levelOf(a) < 0 ? a : b} has no place in the import rules`;
  return levelOf(a) < levelOf(b) ? undefined : `${a} may not import ${b}`;
}

/** Handlers of declared routes refuse by the function they are given, which knows the route's own faults and no others. */
const FAULTS = "gateway/src/faults.ts";
const HANDLERS = /^gateway\/src\/routes\/(console|nodes)\//;
const OTHER_FAULTS = [
  // Where credits are not sold, one handler answers for all their routes.
  "gateway/src/routes/console/credits.ts",
  // Feeds that many handlers share.
  "gateway/src/routes/console/live.ts",
  // Its refusals are declared by reason, several to a code.
  "gateway/src/routes/console/sign-in.ts",
  // Files, which are no routes of an API.
  "gateway/src/site/console.ts",
];

function forbiddenPart({ from, to, typeOnly }: Import): string | undefined {
  const part = partOf(from);
  const allowed = PARTS[part];
  if (allowed === undefined) return `${part} has no place in the import rules`;
  const { any, types = [], tests = [] } = allowed;
  const has = (entries: string[]): boolean => entries.some((entry) => covers(entry, to));
  const mayUse = isProduct(from) ? any : [...any, ...tests];
  if (has(mayUse) || (typeOnly && has(types))) {
    return isProduct(from) && isTest(to) ? "product code may not import test code" : undefined;
  }
  const all = [...mayUse, ...types.map((other) => `types of ${other}`)];
  return `${part} imports ${all.length === 0 ? "nothing" : `only ${all.join(" and ")}`} of the other parts`;
}

/** Whether an entry of the table covers this file. */
const covers = (entry: string, file: string): boolean =>
  PARTS[entry] === undefined ? file === entry || file.startsWith(`${entry}/`) : partOf(file) === entry;

/** The folders and files that the table allows although no file of that part imports them, as `part: entry`. */
export function unusedEntries(imports: Import[]): string[] {
  return Object.entries(PARTS).flatMap(([part, { any }]) =>
    any
      .filter((entry) => PARTS[entry] === undefined)
      .filter((entry) => !imports.some(({ from, to }) => partOf(from) === part && covers(entry, to)))
      .map((entry) => `${part}: ${entry}`),
  );
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
