import assert from "node:assert/strict";
import { test } from "node:test";
import { findIconShapes, lucideIcons } from "./lucide-icons.ts";

const collection = {
  icons: {
    info: { body: '<g fill="none" stroke="currentColor"><circle cx="12" cy="12" r="10"/><path d="M12 16v-4"/></g>' },
    dot: { body: '<circle cx="7.5" cy="7.5" r=".5" fill="currentColor" stroke-width="2"/>' },
    turned: { body: '<g transform="rotate(90)"><path d="M0 0"/></g>' },
    dashed: { body: '<path stroke-dasharray="1 2" d="M0 0"/>' },
  },
  aliases: { about: { parent: "info" } },
};

test("keeps an icon's shapes, without the attributes that all icons share", () => {
  const info = [
    ["circle", { cx: "12", cy: "12", r: "10" }],
    ["path", { d: "M12 16v-4" }],
  ];
  assert.deepEqual(findIconShapes(collection, "info"), info);
  assert.deepEqual(findIconShapes(collection, "about"), info, "by another name");
  assert.deepEqual(findIconShapes(collection, "dot"), [
    ["circle", { cx: "7.5", cy: "7.5", r: ".5", fill: "currentColor" }],
  ]);
});

test("refuses an icon that does not exist or cannot be drawn correctly", () => {
  assert.throws(() => findIconShapes(collection, "nothing"), /no icon "nothing"/);
  assert.throws(() => findIconShapes(collection, "turned"), /group with attributes/);
  assert.throws(() => findIconShapes(collection, "dashed"), /attribute that React names otherwise/);
});

test("replaces calls of lucide() with the icons' shapes, only in icons.tsx", () => {
  const { transform } = lucideIcons();
  assert.ok(typeof transform === "function");
  const call = (id: string): unknown => transform.call({} as never, 'icon(lucide("x"))', id);
  assert.deepEqual(call("/anywhere/console/src/ui/icons.tsx"), {
    code: 'icon([["path",{"d":"M18 6L6 18M6 6l12 12"}]])',
    map: null,
  });
  assert.equal(call("/anywhere/console/src/ui/other.tsx"), undefined);
});
