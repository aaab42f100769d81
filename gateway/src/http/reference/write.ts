/** `node gateway/src/http/reference/write.ts` writes the committed API documents anew. A test fails when they are stale. */
import { writeFileSync } from "node:fs";
import { mistakesIn } from "./openapi.ts";
import { publicApi, publicApiText } from "./public-api.ts";

const mistakes = mistakesIn(publicApi());
if (mistakes.length > 0) {
  console.error(`The document has mistakes; nothing is written:\n${mistakes.join("\n")}`);
  process.exit(1);
}
writeFileSync(new URL("../../../openapi/public.json", import.meta.url), publicApiText());
console.log("wrote gateway/openapi/public.json");
