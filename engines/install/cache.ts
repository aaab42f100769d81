/** The folder in which engines and models are cached between runs. Git ignores it. */
import { fileURLToPath } from "node:url";

export const CACHE = fileURLToPath(new URL("../../.cache/engines", import.meta.url));
