/** Registers the service worker that caches the page's frame for outages of the gateway (shell-worker.js). */

/** The worker fetches the whole build, so it waits until the page itself is loaded. */
const AFTER_MS = 3_000;

export function keepShell(): void {
  // Service workers need TLS or this machine; elsewhere the console works without one.
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
