/** Reads a version's section of CHANGELOG.md. */

/** Returns the section of a version or of `Unreleased`, without its heading. */
export function readChangelogSection(changelog: string, title: string): string {
  const heading = /^## \[?([^\]\s]+)\]?.*$/gm;
  const headings = [...changelog.matchAll(heading)];
  const at = headings.findIndex(([, name]) => name === title);
  const found = headings[at];
  if (found === undefined) throw new Error(`CHANGELOG.md has no section "## ${title}"`);
  const section = changelog.slice(found.index + found[0].length, headings[at + 1]?.index).trim();
  if (section === "") throw new Error(`the section "## ${title}" of CHANGELOG.md is empty`);
  return `${section}\n`;
}
