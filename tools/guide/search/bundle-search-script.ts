/** Bundles the search script and MiniSearch for browsers. */
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** The bundler that Vite installs. It is not a direct dependency, for the reason in tools/release/compile.ts. */
const BUNDLER = createRequire(import.meta.resolve("vite")).resolve("rolldown");

export async function bundleSearchScript(): Promise<string> {
  const { rolldown }: typeof import("rolldown") = await import(BUNDLER);
  const build = await rolldown({ input: fileURLToPath(new URL("box.js", import.meta.url)), platform: "browser" });
  try {
    const { output } = await build.generate({ format: "esm", minify: true });
    return output[0].code;
  } finally {
    await build.close();
  }
}
