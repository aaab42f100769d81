/**
 * Plants the bug in PLANTED_BUG (JSON) when Node or the gateway reads the bug's file. Loaded before everything else
 * (`node --import`). Modules are changed as they are loaded, SQL as it is read; the files on disk do not change. For
 * `npm run mutations` and `npm run sim:mutations`.
 */
import fs from "node:fs/promises";
import { registerHooks, syncBuiltinESMExports } from "node:module";
import { fileURLToPath } from "node:url";

const bug = JSON.parse(process.env.PLANTED_BUG ?? "{}") as Record<"name" | "file" | "find" | "replace", string>;
const path = fileURLToPath(new URL(`../../${bug.file}`, import.meta.url));

function planted(source: string): string {
  // The text must match once: two matches would plant two bugs, and no match would prove nothing.
  if (source.split(bug.find).length !== 2) throw new Error(`${bug.name}: its place is not in ${bug.file}`);
  return source.replace(bug.find, () => bug.replace);
}

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.startsWith("file:") || fileURLToPath(url) !== path) return loaded;
    return { ...loaded, source: planted(Buffer.from(loaded.source as Uint8Array).toString("utf8")) };
  },
});

const { readFile } = fs;
fs.readFile = (async (...args: Parameters<typeof readFile>) => {
  const read = await readFile(...args);
  return args[0] === path ? planted(String(read)) : read;
}) as typeof readFile;
syncBuiltinESMExports();
