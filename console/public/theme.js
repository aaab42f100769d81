// Runs before the first paint, so that a dark page is never white for a moment. The same rule is in src/ui/theme.ts.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("tollgate.theme");
  } catch {
    // Storage may be forbidden; the system's choice then holds.
  }
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
