/** Joins class names, skipping those that are false, null or undefined. */
export const joinClasses = (...names: (string | false | null | undefined)[]): string => names.filter(Boolean).join(" ");
