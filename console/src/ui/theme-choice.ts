/** Light or dark: the system's choice until somebody makes their own. Runs before the first paint too, so it imports nothing. */

export type Theme = "system" | "light" | "dark";

export const THEME_STORED_AS = "tollgate.theme";
export const systemDark = matchMedia("(prefers-color-scheme: dark)");

export function storedTheme(): Theme {
  try {
    const kept = localStorage.getItem(THEME_STORED_AS);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    // Storage may be forbidden; the system's choice then holds.
    return "system";
  }
}

export function applyTheme(): void {
  const theme = storedTheme();
  const dark = theme === "dark" || (theme === "system" && systemDark.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
