import assert from "node:assert/strict";
import { test } from "node:test";
import { browserName } from "./browser-name.ts";

test("recognizes browsers although their user agents also name other browsers", () => {
  const mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko)";
  assert.equal(browserName(`${mac} Chrome/130.0.0.0 Safari/537.36`), "Chrome on macOS");
  assert.equal(browserName(`${mac} Chrome/130.0.0.0 Safari/537.36 Edg/130.0`), "Edge on macOS");
  assert.equal(browserName(`${mac} Version/18.0 Safari/605.1.15`), "Safari on macOS");
  assert.equal(
    browserName("Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0"),
    "Firefox on Linux",
  );
  assert.equal(browserName("curl/8.5.0"), "curl");
  assert.equal(browserName(null), "Unknown browser");
});
