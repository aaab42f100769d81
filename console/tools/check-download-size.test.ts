import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { checkDownloadSize } from "./check-download-size.ts";

interface Part {
  imports?: string[];
  facade?: string;
  /** Whether the file is a style sheet or a document instead of a script. */
  asset?: boolean;
  /** The file's size. Its content is random text, which hardly compresses. */
  bytes: number;
}

/** Checks a made-up build. Returns the error message, if any. */
function check(parts: Record<string, Part>): string | undefined {
  const bundle = Object.fromEntries(
    Object.entries(parts).map(([fileName, { imports = [], facade = null, asset = false, bytes }]) => {
      const text = randomBytes(bytes).toString("base64");
      const script = { type: "chunk", fileName, imports, facadeModuleId: facade, code: text };
      return [fileName, asset ? { type: "asset", fileName, source: text } : script];
    }),
  );
  const { writeBundle } = checkDownloadSize();
  assert.ok(typeof writeBundle === "function");
  const context = {
    error(message: string): never {
      throw new Error(message);
    },
  };
  try {
    writeBundle.call(context as never, {} as never, bundle as never);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const START: Part = { facade: "/console/index.html", imports: ["shared.js"], bytes: 50_000 };
const FIRST: Part = { facade: "/console/src/pages/overview/overview-page.tsx", imports: ["shared.js"], bytes: 10_000 };

test("counts each file that the first page imports once, and no file that loads later", () => {
  const chart: Part = { bytes: 400_000 };
  assert.equal(check({ "a.js": START, "b.js": FIRST, "shared.js": { bytes: 120_000 }, "chart.js": chart }), undefined);
});

test("fails the build if the first page loads more bytes than allowed", () => {
  assert.match(
    check({ "a.js": START, "b.js": FIRST, "shared.js": { bytes: 145_000 } }) ?? "",
    /the first page loads 20\d/,
  );
  const style: Part = { asset: true, bytes: 25_000 };
  assert.match(
    check({ "a.js": START, "b.js": FIRST, "shared.js": { bytes: 120_000 }, "a.css": style }) ?? "",
    /the first page loads 20\d/,
  );
});

test("fails if the build does not contain the first page's entry file", () => {
  assert.match(check({ "a.js": START, "shared.js": { bytes: 10 } }) ?? "", /was not found/);
});
