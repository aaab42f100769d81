/** Reads and changes the colour theme, which this browser stores. */
import { useSyncExternalStore } from "react";
import { applyTheme, storedTheme, systemDark, THEME_STORED_AS, type Theme } from "./theme-choice.ts";

const listeners = new Set<() => void>();

function apply(): void {
  applyTheme();
  for (const listener of listeners) listener();
}

systemDark.addEventListener("change", apply);
// Another tab of the console changed the theme.
addEventListener("storage", ({ key }) => key === THEME_STORED_AS && apply());
// For browsers that did not load the early script.
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
