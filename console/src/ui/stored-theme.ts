/**
 * The color theme: the system's until the user chooses light or dark. Also runs before the first paint, so it imports
 * nothing.
 */

export type Theme = "system" | "light" | "dark";

export const THEME_STORED_AS = "tollgate.theme";
export const DARK_SYSTEM_THEME = matchMedia("(prefers-color-scheme: dark)");

export function storedTheme(): Theme {
  try {
    const kept = localStorage.getItem(THEME_STORED_AS);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    // If the browser blocks its storage, the system's theme applies.
    return "system";
  }
}

export function applyTheme(): void {
  const theme = storedTheme();
  const dark = theme === "dark" || (theme === "system" && DARK_SYSTEM_THEME.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
