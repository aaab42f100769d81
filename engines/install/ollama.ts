/**
 * Builds Ollama from its Go module. The module lacks three folders of C++ headers: two come from Debian packages
 * (nlohmann-json3-dev, libstb-dev), one from another Go module.
 */
import { existsSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ENGINE_CACHE_DIRECTORY } from "./cache.ts";
import { failureReason, runCommand } from "./command.ts";

export const OLLAMA_VERSION = "0.17.4";
const MINIAUDIO = "github.com/gen2brain/malgo@v0.11.24";
const HEADERS = {
  "nlohmann-json3-dev": "/usr/include/nlohmann/json.hpp",
  "libstb-dev": "/usr/include/stb/stb_image.h",
};

const HOME = join(ENGINE_CACHE_DIRECTORY, `ollama-${OLLAMA_VERSION}`);
export const OLLAMA_PROGRAM = join(HOME, "bin", "ollama");

/** Builds Ollama. Returns why that is not possible; undefined once it is built. */
export async function installOllama(): Promise<string | undefined> {
  if (existsSync(OLLAMA_PROGRAM)) return undefined;
  const missing = Object.entries(HEADERS).filter(([, file]) => !existsSync(file));
  if (missing.length > 0) return `its build needs Debian's ${missing.map(([name]) => name).join(" and ")}`;
  console.log(`  building ollama ${OLLAMA_VERSION} (once, many minutes on two cores)…`);
  const audio = await runCommand("go", ["mod", "download", "-json", MINIAUDIO]);
  if (audio.code !== 0) return `go: ${failureReason(audio)}`;
  const { Dir } = JSON.parse(audio.output) as { Dir: string };
  await mkdir(join(HOME, "include", "miniaudio"), { recursive: true });
  await copyFile(join(Dir, "miniaudio.h"), join(HOME, "include", "miniaudio", "miniaudio.h"));
  const built = await runCommand("go", ["install", `github.com/ollama/ollama@v${OLLAMA_VERSION}`], {
    env: { GOBIN: join(HOME, "bin"), CGO_ENABLED: "1", CGO_CXXFLAGS: `-O2 -I${join(HOME, "include")}` },
  });
  return built.code === 0 ? undefined : `go install: ${failureReason(built)}`;
}
