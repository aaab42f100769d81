/** `npm run docs`: builds the guide out of docs/ into docs/dist, where a gateway that starts here finds it. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { siteOf, writeSite } from "./site.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const files = siteOf(root);
writeSite(files, join(root, "docs", "dist"));
if (process.argv[2] !== "--quiet")
  console.log(`  built the guide: ${files.size} files in docs/dist, served under /docs/guide`);
