/** Creates the anchors of headings like GitHub, so that a link works there, in the guide and in an editor. */

/**
 * Returns a function that turns a heading into its anchor: lower-case words with hyphens between them, and a number if
 * the heading is repeated.
 */
export function createAnchorMaker(): (text: string) => string {
  const seen = new Map<string, number>();
  return (text) => {
    const anchor = text
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
      .replaceAll(" ", "-");
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  };
}
