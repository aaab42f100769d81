/** The folder in which engines and models are cached between runs. Git ignores it. */
import { fileURLToPath } from "node:url";

export const ENGINE_CACHE_DIRECTORY = fileURLToPath(new URL("../../.cache/engines", import.meta.url));
