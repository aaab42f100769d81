/**
 * Finds exports that no other file imports. Exports are declarations (`export const x`); there are no barrel files. All
 * exports of a file count as used if it is imported as a whole (`import("./x.ts")`, `* as`, or only by its path).
 */
import { resolveImport } from "./imports.ts";

const IMPORT = /(?:^|\n)\s*(?:import|export)\s+(?:type\s+)?([^"'`;]*?)\s*from\s*["']([^"']+)["']/g;
const WHOLE = /import\(\s*["']([^"']+)["']\s*\)|new URL\(\s*["'](\.[^"']+)["']\s*,\s*import\.meta\.url/g;
const EXPORT =
  /(?:^|\n)export\s+(?:declare\s+)?(?:async\s+)?(?:abstract\s+)?(?:const|let|function\*?|class|interface|type)\s+(\w+)/g;

/** Returns the exports that no other file imports, as `path › name`. */
export function findDeadExports(sources: Map<string, string>): string[] {
  const used = new Set<string>();
  for (const [file, source] of sources) for (const name of usedBy(file, source)) used.add(name);
  return [...sources].flatMap(([file, source]) => {
    if (used.has(`${file} › *`)) return [];
    const names = new Set([...source.matchAll(EXPORT)].map(([, name]) => `${file} › ${name}`));
    return [...names.difference(used)];
  });
}

function usedBy(file: string, source: string): string[] {
  const whole = [...source.matchAll(WHOLE)].map(([, imported, addressed]) => [imported ?? addressed ?? "", "*"]);
  const named = [...source.matchAll(IMPORT)].flatMap(([, clause = "", specifier = ""]) =>
    namesIn(clause).map((name) => [specifier, name]),
  );
  return [...whole, ...named].flatMap(([specifier = "", name]) => {
    const to = resolveImport(file, specifier);
    return to === undefined ? [] : [`${to} › ${name}`];
  });
}

/** Returns the names in an import clause. Examples: `{ a, type B as C }` → a, B; `* as x` → *. */
function namesIn(clause: string): string[] {
  const braced = /\{([^}]*)\}/.exec(clause)?.[1] ?? "";
  const names = braced.split(",").map(
    (part) =>
      part
        .trim()
        .replace(/^type\s+/, "")
        .split(/\s+as\s+/)[0] ?? "",
  );
  return [...names.filter((name) => name !== ""), ...(clause.includes("*") ? ["*"] : [])];
}
