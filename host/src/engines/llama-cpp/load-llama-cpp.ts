/**
 * Loads llama.cpp on demand. The package is optional: it is a hundred times as large as the agent, and hosts with
 * another engine do not need it. Loading takes a third of a second and 50 MB of memory.
 */

/** The same version as in `package.json`. */
export const LLAMA_CPP_PACKAGE = "node-llama-cpp@3.21.1";

/** The package is not installed. */
export class LlamaCppMissingError extends Error {
  override name = "NoLlamaCpp";
}

export async function loadLlamaCpp<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    throw new LlamaCppMissingError("the demo model and GGUF files need llama.cpp, which is not installed", { cause });
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  (error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND" &&
  error.message.includes("'node-llama-cpp'");
