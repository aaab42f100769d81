/** `root` is that of the workspace. */
export function removeUnused(root: string): void;
