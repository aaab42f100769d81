/** Registers the service worker (shell-worker.js), which caches the page's files for outages of the gateway. */

/** The worker downloads the whole build, so its registration waits until the page itself is loaded. */
const AFTER_MS = 3_000;

export function registerServiceWorker(): void {
  // Browsers allow service workers only over TLS or on localhost. The console works without one.
  if (!import.meta.env.PROD || !("serviceWorker" in navigator)) return;
  addEventListener("load", () =>
    setTimeout(() => {
      navigator.serviceWorker
        .register("/console/shell-worker.js", { scope: "/console/" })
        .catch((error: unknown) =>
          console.info("Could not register the service worker that keeps the console available offline:", error),
        );
    }, AFTER_MS),
  );
}
