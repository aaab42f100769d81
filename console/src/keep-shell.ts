/** Registers the service worker that keeps the frame for when the gateway is away (shell-worker.js). */

/** It fetches the whole build: not while the page itself is loading. */
const AFTER_MS = 3_000;

export function keepShell(): void {
  // Only where the page came over TLS or from this machine, which is the browser's rule; elsewhere the console works without.
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
