/**
 * Builds the adapters in Go and Java once per version of their sources. If tools or registries are missing, it returns
 * the reason, and the suite lists the clients as left out.
 */
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildBinaryOnce, cacheFolder } from "../../tools/go-builds.ts";
import { runInstallCommand } from "./install-clients.ts";

/** The command that starts an adapter: the program and its arguments before the client's name. */
export type AdapterBuildResult = { program: string; args: string[] } | { missing: string };

const UNREACHABLE = /no such host|dial tcp|i\/o timeout|Could not transfer artifact|Unknown host|Connection refused/;
const TOO_OLD = /requires go >= \S+|release version \d+ not supported|No compiler is provided in this environment/;

const built = new Map<string, Promise<AdapterBuildResult>>();

/** Builds each language once, for all clients of the language. */
const once = (language: string, make: () => Promise<AdapterBuildResult>): Promise<AdapterBuildResult> => {
  const building = built.get(language) ?? make();
  built.set(language, building);
  return building;
};

export const buildGoAdapter = (): Promise<AdapterBuildResult> =>
  once("go", async () => {
    const { sources, cached } = placesOf("go");
    const missing = await buildBinaryOnce(cached, "clients", (folder) =>
      build("go", ["build", "-mod=readonly", "-o", join(folder, "clients"), "."], sources),
    );
    return missing === undefined ? { program: cached, args: [] } : { missing };
  });

export const buildJavaAdapter = (): Promise<AdapterBuildResult> =>
  once("java", async () => {
    const { sources, cached } = placesOf("java");
    const missing = await buildBinaryOnce(cached, "target", (folder) => {
      cpSync(sources, folder, { recursive: true });
      const goals = ["compile", "dependency:copy-dependencies"];
      return build("mvn", ["-B", "-q", ...goals, `-DoutputDirectory=${join(folder, "target", "lib")}`], folder);
    });
    if (missing !== undefined) return { missing };
    const classes = [join(cached, "classes"), join(cached, "lib", "*")].join(delimiter);
    // LangChain4j includes a logging facade without a backend, which would print a warning.
    return { program: "java", args: ["-Dslf4j.internal.verbosity=ERROR", "-cp", classes, "clients.Main"] };
  });

function placesOf(language: string): { sources: string; cached: string } {
  const sources = fileURLToPath(new URL(`${language}/`, import.meta.url));
  const digest = createHash("sha256");
  for (const entry of readdirSync(sources, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) digest.update(entry.name).update(readFileSync(join(entry.parentPath, entry.name)));
  }
  const folder = cacheFolder(`clients-${language}`);
  mkdirSync(folder, { recursive: true });
  return { sources, cached: join(folder, digest.digest("hex").slice(0, 16)) };
}

async function build(tool: string, args: string[], cwd: string): Promise<string | undefined> {
  const { code, output } = await runInstallCommand(tool, args, cwd);
  return code === 0 ? undefined : explainMissingTool(tool, output);
}

/** Returns why a failed build cannot work on this machine. Throws if the sources have an error. */
export function explainMissingTool(tool: string, output: string): string {
  if (output === `spawn ${tool} ENOENT`) return `${tool} is not installed`;
  const tooOld = TOO_OLD.exec(output)?.[0];
  if (tooOld !== undefined) return `${tool}: ${tooOld}`;
  if (UNREACHABLE.test(output)) return `${tool} cannot reach its registry`;
  throw new Error(`${tool} could not build the adapters in e2e/clients:\n${output}`);
}
