/** The cache of engines and models, ignored by git and kept between runs. */
import { fileURLToPath } from "node:url";

export const CACHE = fileURLToPath(new URL("../../.cache/engines", import.meta.url));
