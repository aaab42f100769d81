/**
 * Runs in the measured page before any script of its own: notes what the browser's own observers tell, and the moment at which
 * everything that was asked for (`tollgateBench.expect`) is in the document.
 */
(() => {
  const SKELETON = ".animate-breathe.bg-sunken";
  const WATCHED_AFTER_MS = 1_000;
  const GIVE_UP_MS = 120_000;
  const seen = { fcp: null, lcp: null, shifts: [], tasks: [] };

  const watch = (type, take) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
  watch("paint", ({ name, startTime }) => {
    if (name === "first-contentful-paint") seen.fcp = startTime;
  });
  watch("largest-contentful-paint", ({ startTime }) => {
    seen.lcp = startTime;
  });
  watch("layout-shift", ({ startTime, value, hadRecentInput }) => {
    if (!hadRecentInput) seen.shifts.push({ at: startTime, value });
  });
  watch("longtask", ({ startTime, duration }) => seen.tasks.push({ from: startTime, to: startTime + duration }));

  const isThere = ({ css, least = 1, text }) => {
    const found = [...document.querySelectorAll(css)];
    return found.length >= least && (text === undefined || found.every(({ textContent }) => textContent === text));
  };
  const afterFrame = () =>
    new Promise((resolve) => {
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => resolve(performance.now());
        port2.postMessage(undefined);
      });
    });
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

  /**
   * Resolves when all of it is there and no skeleton is: when the frame that shows it was drawn, and what was observed until
   * a second later. With `since`, time counts from the next event of that type.
   */
  const expect = (wanted, since) =>
    new Promise((resolve, reject) => {
      let askedAt = since === undefined ? 0 : undefined;
      if (since !== undefined) {
        addEventListener(
          since,
          ({ timeStamp }) => {
            askedAt = timeStamp;
          },
          { capture: true, once: true },
        );
      }
      const giveUp = setTimeout(() => {
        observer.disconnect();
        const missing = wanted.filter((one) => !isThere(one)).map(({ css }) => css);
        reject(new Error(`not there after ${GIVE_UP_MS} ms: ${missing.join(", ") || "a skeleton stayed"}`));
      }, GIVE_UP_MS);
      const look = async () => {
        if (askedAt === undefined || !wanted.every(isThere) || document.querySelector(SKELETON) !== null) return;
        performance.mark("there");
        observer.disconnect();
        clearTimeout(giveUp);
        const drawnAt = await afterFrame();
        await pause(WATCHED_AFTER_MS);
        resolve({ ...seen, askedAt, drawnAt });
      };
      const observer = new MutationObserver(look);
      observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
      look();
    });

  const loaded = () => {
    const [page] = performance.getEntriesByType("navigation");
    const parts = performance.getEntriesByType("resource");
    const fileOf = ({ name, transferSize, encodedBodySize, requestStart, responseEnd }) => ({
      name,
      transferSize,
      encodedBodySize,
      tookMs: responseEnd - requestStart,
    });
    return { serverMs: page.responseStart - page.requestStart, files: [page, ...parts].map(fileOf) };
  };

  globalThis.tollgateBench = { expect, loaded };
})();
