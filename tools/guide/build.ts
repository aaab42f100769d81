/** `npm run docs`: builds the docs into docs/dist, where a gateway that starts here finds them. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { siteOf, writeSite } from "./site.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const files = await siteOf(root);
writeSite(files, join(root, "docs", "dist"));
if (process.argv[2] !== "--quiet")
  console.log(`  built the docs: ${files.size} files in docs/dist, served under /docs`);
