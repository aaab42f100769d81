/**
 * Writes the types of the API from its committed documents: `node console/tools/schema.ts`. The result is committed too; a
 * test fails when it no longer fits.
 */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import openapiTypescript, { astToString, type OpenAPI3 } from "openapi-typescript";

const DOCUMENTS = [
  { of: "console", from: "../../gateway/openapi/console.json", to: "../src/api/schema.d.ts" },
  { of: "public API", from: "../../gateway/openapi/public.json", to: "../src/api/public.d.ts" },
];

export interface Schema {
  file: string;
  text: string;
}

export async function makeSchemas(): Promise<Schema[]> {
  return await Promise.all(
    DOCUMENTS.map(async ({ of, from, to }) => {
      const document = JSON.parse(await readFile(new URL(from, import.meta.url), "utf8")) as OpenAPI3;
      const types = astToString(await openapiTypescript(document, { alphabetize: true }));
      const head = `/** Types of the ${of}, written by tools/schema.ts from its OpenAPI document. Not to be changed by hand. */\n`;
      return { file: fileURLToPath(new URL(to, import.meta.url)), text: `${head}${types}` };
    }),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { file, text } of await makeSchemas()) await writeFile(file, text);
}
