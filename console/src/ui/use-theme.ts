/** Reads and changes the color theme, which is stored in this browser. */
import { useSyncExternalStore } from "react";
import { applyTheme, DARK_SYSTEM_THEME, storedTheme, THEME_STORED_AS, type Theme } from "./stored-theme.ts";

const listeners = new Set<() => void>();

function apply(): void {
  applyTheme();
  for (const listener of listeners) listener();
}

DARK_SYSTEM_THEME.addEventListener("change", apply);
// Applies a theme that was chosen in another tab of the console.
addEventListener("storage", ({ key }) => key === THEME_STORED_AS && apply());
// Applies the theme here too, in case the script that runs before the page's code (early/early-script.ts) did not load.
apply();

export function setTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(THEME_STORED_AS);
  else localStorage.setItem(THEME_STORED_AS, theme);
  apply();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, storedTheme);
}
