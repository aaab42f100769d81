/**
 * Compiles a package's sources to JavaScript, because Node does not strip types from files below `node_modules`.
 * Includes only what the entry points import, so no tests and no tools.
 */
import { createRequire } from "node:module";
import { basename, extname, join, relative } from "node:path";
import type { PackageSpec } from "./packages.ts";

interface CompiledPackage {
  /** Paths of the compiled files within the package. */
  files: string[];
  /** Imported packages that a user has to install. */
  imported: string[];
}

/**
 * Vite's own bundler. It is not a direct dependency: npm would then request its builds for every platform, and not
 * every registry has them all.
 */
const BUNDLER = createRequire(import.meta.resolve("vite")).resolve("rolldown");

/** Code that is always bundled: the project's own packages and the compiler's helpers. */
const OURS = ["@tollgate/", "@oxc-project/runtime/"];
/** Packages that are never bundled. This one consists mostly of binaries, and a host decides whether to install it. */
const APART = ["node-llama-cpp"];

export async function compilePackage(spec: PackageSpec, root: string, to: string): Promise<CompiledPackage> {
  const isOurs = (id: string): boolean => /^[./]/.test(id) || OURS.some((scope) => id.startsWith(scope));
  const isApart = (id: string): boolean => id.startsWith("node:") || APART.includes(packageOf(id));
  const { rolldown }: typeof import("rolldown") = await import(BUNDLER);
  const build = await rolldown({
    cwd: root,
    platform: "node",
    input: Object.fromEntries(spec.entries.map((entry) => [withoutExtension(relative(spec.base, entry)), entry])),
    external: (id) => (spec.carriesDependencies ? isApart(id) : !isOurs(id)),
    onLog(level, log) {
      if (level === "warn") throw new Error(`${spec.name}: ${log.message}`);
    },
  });
  try {
    const { output } = await build.write({
      dir: to,
      format: "esm",
      entryFileNames: ({ name }) => (spec.command.startsWith(`${name}.`) ? spec.command : "[name].js"),
      ...(spec.carriesDependencies
        ? {
            chunkFileNames: ({ name, facadeModuleId }) =>
              placeOf(facadeModuleId, join(root, spec.base)) ?? `src/${name}.js`,
          }
        : { preserveModules: true, preserveModulesRoot: root }),
    });
    const chunks = output.filter((part) => part.type === "chunk");
    const names = new Set(chunks.map(({ fileName }) => fileName));
    const imported = chunks
      .flatMap((chunk) => [...chunk.imports, ...chunk.dynamicImports])
      .filter((id) => !names.has(id));
    return {
      files: [...names],
      imported: [...new Set(imported.filter((id) => !id.startsWith("node:")).map(packageOf))].sort(),
    };
  } finally {
    await build.close();
  }
}

/**
 * Returns the path of a compiled file that is loaded on demand. It keeps its folder, because it finds its data files by
 * relative paths.
 */
function placeOf(file: string | null | undefined, base: string): string | undefined {
  if (file === null || file === undefined || !file.startsWith(`${base}/src/`)) return undefined;
  return `${withoutExtension(relative(base, file))}.js`;
}

const withoutExtension = (path: string): string => join(path, "..", basename(path, extname(path)));

/** Returns the package's name in an import specifier, for example `@scope/name/file` → `@scope/name`. */
function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}
