/** `npm run docs`: builds the docs into docs/dist, where a gateway that runs from these sources finds them. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSite, writeSite } from "./build-site.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const files = await buildSite(root);
/** A hash of the sources, passed by build-guide.mjs, which builds again only when the hash changes. */
const sources = process.argv[2];
writeSite(sources === undefined ? files : new Map([...files, [".sources", sources]]), join(root, "docs", "dist"));
if (sources === undefined) console.log(`  built the docs: ${files.size} files in docs/dist, served under /docs`);
