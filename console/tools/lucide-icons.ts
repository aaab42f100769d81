/**
 * Replaces calls of `lucide("name")` with the shapes of that Lucide icon, so that the build contains only the icons
 * that it uses.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";

interface Collection {
  icons: Record<string, { body: string } | undefined>;
  /** Alternative names of icons. */
  aliases: Record<string, { parent: string } | undefined>;
}

type Shape = [tag: string, attributes: Record<string, string>];

const ICONS = /\/console\/src\/ui\/icons\.tsx$/;
const CALL = /\blucide\("([^"]*)"\)/g;

export function lucideIcons(): Plugin {
  const path = fileURLToPath(import.meta.resolve("@iconify-json/lucide/icons.json"));
  const collection: Collection = JSON.parse(readFileSync(path, "utf8"));
  return {
    name: "tollgate:lucide",
    // Runs on the original source text.
    enforce: "pre",
    transform(code, id) {
      if (!ICONS.test(id)) return undefined;
      return {
        code: code.replaceAll(CALL, (_, name: string) => JSON.stringify(findIconShapes(collection, name))),
        map: null,
      };
    },
  };
}

/** Attributes that all icons share (`icons.tsx`). */
const COMMON: Record<string, string> = {
  fill: "none",
  stroke: "currentColor",
  "stroke-linecap": "round",
  "stroke-linejoin": "round",
  "stroke-width": "2",
};
const TAG = /<(\/?)(\w+)([^>]*?)\/?>/g;
const ATTRIBUTE = /([\w-]+)="([^"]*)"/g;

/** Throws an error for an icon that does not exist, or that does not consist of plain shapes. */
export function findIconShapes({ icons, aliases }: Collection, name: string): Shape[] {
  const body = icons[name]?.body ?? icons[aliases[name]?.parent ?? ""]?.body;
  if (body === undefined) throw new Error(`Lucide has no icon "${name}"`);
  const shapes: Shape[] = [];
  for (const [, end, tag = "", written = ""] of body.matchAll(TAG)) {
    const own = [...written.matchAll(ATTRIBUTE)].flatMap(([, key = "", value = ""]) =>
      COMMON[key] === value ? [] : [[key, value] as const],
    );
    if (tag !== "g") shapes.push([tag, Object.fromEntries(own)]);
    else if (end === "" && own.length > 0) throw new Error(`the icon "${name}" has a group with attributes of its own`);
    if (own.some(([key]) => key.includes("-")))
      throw new Error(`the icon "${name}" has an attribute that React names otherwise`);
  }
  return shapes;
}
