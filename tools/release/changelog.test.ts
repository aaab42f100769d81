import assert from "node:assert/strict";
import { test } from "node:test";
import { readChangelogSection } from "./changelog.ts";

const CHANGELOG = `# Changelog

## Unreleased

## 1.2.0 (2026-01-02)

### Hosts

- One thing.

## 1.1.0

- Another.
`;

test("a version's section is the text between its heading and the next one", () => {
  assert.equal(readChangelogSection(CHANGELOG, "1.2.0"), "### Hosts\n\n- One thing.\n");
  assert.equal(readChangelogSection(CHANGELOG, "1.1.0"), "- Another.\n");
});

test("a release of a version without a changelog section fails", () => {
  assert.throws(() => readChangelogSection(CHANGELOG, "1.2"), { message: 'CHANGELOG.md has no section "## 1.2"' });
  assert.throws(() => readChangelogSection(CHANGELOG, "Unreleased"), {
    message: /section "## Unreleased" of CHANGELOG.md is empty/,
  });
});
