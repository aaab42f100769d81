/** Where engines and models are kept: ignored by git, and left there between runs. */
import { fileURLToPath } from "node:url";

export const CACHE = fileURLToPath(new URL("../../.cache/engines", import.meta.url));
