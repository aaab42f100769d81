/** Reads the imports between source files, and checks them against the import rules of ARCHITECTURE.md. */
import { dirname, join, normalize } from "node:path";
import { readSources } from "./read-sources.ts";

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
  /** The imported names that exist at run time, as the imported file exports them: `c` for `c as d`. */
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
/** What a part of the repository may import from other parts. An entry is a part, or a folder or file of a part. */
interface Allowed {
  any: string[];
  /** Entries that may be imported only with `import type`. */
  types?: string[];
  /** Entries that may be imported only by the part's test code. */
  tests?: string[];
}
const ofGateway = (...folders: string[]): string[] => folders.map((folder) => `gateway/src/${folder}`);
export const IMPORT_RULES: Record<string, Allowed> = {
  // The parts of the product.
  api: { any: [] },
  protocol: { any: [] },
  terminal: { any: [] },
  "demo-provider": { any: ["protocol"], tests: ["stage/wait.ts"] },
  gateway: {
    // Within product code, only the dev command may import the demo provider (see `findImportViolation`).
    any: ["api", "protocol", "terminal", "demo-provider"],
    tests: ["stage/wait.ts", "stage/killable-process.ts", "tools/nats-servers.ts"],
  },
  host: {
    any: ["protocol", "terminal"],
    types: ["api"],
    // Only tests may import these, for example to compare the agent's token counts with those of the gateway.
    tests: ["stage/wait.ts", ...ofGateway("metering", "plane/hub/testing-certificate.ts")],
  },
  console: { any: [], types: ["api"], tests: ["stage/wait.ts"] },
  examples: { any: [] },
  deploy: { any: [] },

  // Programs that build and check the product.
  "gateway/tools": { any: ["gateway"] },
  "console/tools": { any: ["console"] },
  tools: {
    any: [
      "stage/wait.ts",
      // The API reference is built from the API declarations.
      "api",
      // Imported by `tools/test.ts`, which starts the PostgreSQL server that the tests share.
      ...ofGateway("db/testing.ts", "db/testing"),
      // The docs use the layout of the gateway's own pages, and the console's Markdown parser.
      ...ofGateway("site/reference"),
      "console/src/ui/markdown",
      "tools/dashboards/dashboards.ts",
    ],
  },

  // Suites that run the product. They share code through stage/; single folders or files of other suites are
  // exceptions.
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
        // e2e/enemies measures how often a disputed card is charged again, with the payments' test helpers.
        "payments/testing-payments.ts",
        // The visual suites serve a gateway's pages without the other parts of the gateway.
        "http/server.ts",
        "routes/testing/http-options.ts",
        "site",
      ),
      // A suite checks that the gateway exports every metric that the dashboards read.
      "tools/dashboards/dashboards.ts",
    ],
  },
  chaos: { any: ["stage", "tools", ...ofGateway("base", "db", "limits")] },
  sim: { any: ["protocol", "gateway", "stage"] },
  engines: { any: ["stage", "gateway/tools/tokenizers"] },
  // Measures the gateway's counters, the agent's engine and both sides' rules for schemas.
  "engines/costly-prompts": {
    any: ["engines", "stage", "host", "protocol", "bench", ...ofGateway("base", "inference", "metering")],
  },
  // These tests run the gateway's spot checks directly on the agent's engines.
  "engines/spot-checks": {
    any: ["engines", "stage", "host", ...ofGateway("base", "dispatch", "metering", "trust")],
  },
  bench: {
    any: [
      ...["api", "protocol", "gateway", "host", "stage", "tools"],
      // The benches measure the platforms, browsers and attacks of the end-to-end suites.
      ...["e2e/console-client.ts", "e2e/console/console-browser.ts"],
      ...["e2e/console/lifelike", "e2e/hostile", "e2e/fuzz"],
    ],
  },
  // Draws the dashboards of a platform with the load and faults of chaos/, in the browser of e2e/.
  "tools/dashboards": { any: ["tools", "stage", "chaos", "e2e/console/console-browser.ts", "e2e/outside"] },
};

/**
 * Returns the part that a file belongs to. Examples: `gateway/src/base/money.ts` → `gateway`; `tools/dashboards/run.ts`
 * → `tools/dashboards`.
 */
export function findRepositoryPart(file: string): string {
  const [top = "", second = ""] = file.split("/");
  if (file === "console/vite.config.ts") return "console/tools";
  return IMPORT_RULES[`${top}/${second}`] === undefined ? top : `${top}/${second}`;
}

/** Returns every import between files of the repository, with paths from the root. */
export function readImports(root: string): Import[] {
  return [...readSources(root)].flatMap(([file, source]) => importsOf(file, source));
}

export const isTestOrHelper = (file: string): boolean =>
  /\.test\.tsx?$|\/(testing|fixtures)(-[\w-]+)?(\/|\.ts$)/.test(file);

/** Whether a file belongs to the released product. */
const isProduct = (file: string): boolean =>
  /^(api|protocol|terminal|demo-provider|gateway|host|console)$/.test(findRepositoryPart(file)) &&
  !isTestOrHelper(file);

export function importsOf(file: string, source: string): Import[] {
  const found: Import[] = [];
  for (const match of source.matchAll(STATEMENT)) {
    const [, , type, clause = "*", specifier, imported] = match;
    const to = resolveImport(file, specifier ?? imported ?? "");
    const typeOnly = type !== undefined;
    if (to !== undefined) found.push({ from: file, to, typeOnly, values: typeOnly ? [] : valuesIn(clause) });
  }
  return found;
}

/**
 * Returns the imported names that exist at run time. Examples: `{ a, type B, c as d }` → a, c; `* as x` and `import()`
 * → *.
 */
function valuesIn(clause: string): string[] {
  const names = (/\{([^}]*)\}/.exec(clause)?.[1] ?? "").split(",").map((name) => name.trim());
  const values = names.filter((name) => name !== "" && !name.startsWith("type "));
  return [...values.map((name) => name.split(/\s+as\s+/)[0] ?? ""), ...(clause.includes("*") ? ["*"] : [])];
}

/**
 * Returns the file that an import specifier refers to, by its path from the root; undefined if it is outside the
 * repository.
 */
export function resolveImport(file: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return normalize(join(dirname(file), specifier));
  for (const [name, folder] of Object.entries(PACKAGES)) {
    if (specifier.startsWith(name)) return folder + specifier.slice(name.length);
  }
  return undefined;
}

/** The folders of the gateway by level, highest first: a file may import its own folder and any lower level. */
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
/** Files of the gateway outside its folders, with the folders that may import them. */
const LOOSE: Record<string, string[]> = {
  config: ["commands", "workers", "build"],
  faults: ["site", "routes", "http", "inference", "payments", "build"],
  "server-secrets": ["build", "workers", "commands"],
};

/** The files in which the gateway's folders declare their settings. */
const DECLARATIONS = /^gateway\/src\/\w+\/config\.ts$/;
/** The only product code that may import the demo provider: a gateway in production never loads it. */
const DEV_COMMAND = /^gateway\/src\/commands\/dev/;

/** Returns why an import is not allowed; undefined if it is allowed. */
export function findImportViolation(edge: Import): string | undefined {
  const { from, to, values } = edge;
  if (/\.test\.tsx?$/.test(to)) return "nothing may import a *.test.ts file";
  if (
    findRepositoryPart(to) === "demo-provider" &&
    from.startsWith("gateway/") &&
    !isTestOrHelper(from) &&
    !DEV_COMMAND.test(from)
  )
    return "only the dev command and tests may import the demo provider";
  if (findRepositoryPart(from) !== findRepositoryPart(to)) return forbiddenPart(edge);
  if (isProduct(from) && isTestOrHelper(to)) return "product code may not import test code";
  if (!from.startsWith("gateway/src/") || isTestOrHelper(from)) return undefined;
  if (to === FAULTS && HANDLERS.test(from) && !OTHER_FAULTS.includes(from)) {
    const others = values.filter((name) => !["ruleViolation", "invalidRequest"].includes(name));
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
  // Every command imports these declarations for all folders, so a declaration must not import more.
  if (DECLARATIONS.test(from) && b !== "base") return "a folder's config.ts imports base and its own folder only";
  if (levelOf(a) < 0 || levelOf(b) < 0) return `${levelOf(a) < 0 ? a : b} has no place in the import rules`;
  return levelOf(a) < levelOf(b) ? undefined : `${a} may not import ${b}`;
}

/**
 * Handlers of declared routes report errors only through the function passed to them, which accepts only the errors
 * that the route declares.
 */
const FAULTS = "gateway/src/faults.ts";
const HANDLERS = /^gateway\/src\/routes\/(console|nodes)\//;
const OTHER_FAULTS = [
  // Exception: if payments are off, one handler refuses the requests to all payment routes.
  "gateway/src/routes/console/credits.ts",
  // Exception: refuses too many viewers of the live updates, which many handlers share.
  "gateway/src/routes/console/live-feeds.ts",
  // Exception: creates errors itself, because several reasons for a refused sign-in share one error code.
  "gateway/src/routes/console/sign-in.ts",
  // Exception: serves files, which are not routes of an API.
  "gateway/src/site/console-files.ts",
];

function forbiddenPart({ from, to, typeOnly }: Import): string | undefined {
  const part = findRepositoryPart(from);
  const allowed = IMPORT_RULES[part];
  if (allowed === undefined) return `${part} has no place in the import rules`;
  const { any, types = [], tests = [] } = allowed;
  const has = (entries: string[]): boolean => entries.some((entry) => covers(entry, to));
  const mayUse = isProduct(from) ? any : [...any, ...tests];
  if (has(mayUse) || (typeOnly && has(types))) {
    return isProduct(from) && isTestOrHelper(to) ? "product code may not import test code" : undefined;
  }
  const all = [...mayUse, ...types.map((other) => `types of ${other}`)];
  return `${part} imports ${all.length === 0 ? "nothing" : `only ${all.join(" and ")}`} of the other parts`;
}

/** Whether an entry of the table covers this file. */
const covers = (entry: string, file: string): boolean =>
  IMPORT_RULES[entry] === undefined
    ? file === entry || file.startsWith(`${entry}/`)
    : findRepositoryPart(file) === entry;

/** Returns entries of the table that no file of their part imports, as `part: entry`. */
export function findUnusedRuleEntries(imports: Import[]): string[] {
  return Object.entries(IMPORT_RULES).flatMap(([part, { any }]) =>
    any
      .filter((entry) => IMPORT_RULES[entry] === undefined)
      .filter((entry) => !imports.some(({ from, to }) => findRepositoryPart(from) === part && covers(entry, to)))
      .map((entry) => `${part}: ${entry}`),
  );
}

/**
 * Returns the gateway's folder that a file belongs to, or the file's own name outside of folders. Examples:
 * `gateway/src/ledger/request-costs.ts` → `ledger`; `gateway/src/build.ts` → `build`.
 */
function room(file: string): string {
  return (file.split("/")[2] as string).replace(/\.ts$/, "");
}

/** Returns the files of one import cycle, also one of type imports; undefined if there is none. */
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
