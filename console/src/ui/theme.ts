/** Light or dark: the system's choice until somebody makes their own, which this browser remembers. */
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const STORED_AS = "tollgate.theme";
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function stored(): Theme {
  const kept = localStorage.getItem(STORED_AS);
  return kept === "light" || kept === "dark" ? kept : "system";
}

function apply(): void {
  const theme = stored();
  const dark = theme === "dark" || (theme === "system" && systemDark.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  for (const listener of listeners) listener();
}

systemDark.addEventListener("change", apply);
// Another tab of the console changed it.
addEventListener("storage", ({ key }) => key === STORED_AS && apply());

export function setTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(STORED_AS);
  else localStorage.setItem(STORED_AS, theme);
  apply();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, stored);
}
