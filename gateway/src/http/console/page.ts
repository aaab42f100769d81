/** The console's page: three plain files, read once. Everything it may load or call is of our own origin. */
import { readFileSync } from "node:fs";

export interface PageFile {
  url: string;
  body: string;
  headers: Record<string, string>;
}

const FILES = [
  { urls: ["/console", "/console/"], name: "index.html", type: "text/html; charset=utf-8" },
  { urls: ["/console/console.css"], name: "console.css", type: "text/css; charset=utf-8" },
  { urls: ["/console/console.js"], name: "console.js", type: "text/javascript; charset=utf-8" },
];

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  // The page's empty icon, which keeps browsers from asking for /favicon.ico.
  "img-src data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

export function readPage(): PageFile[] {
  return FILES.flatMap(({ urls, name, type }) => {
    const body = readFileSync(new URL(`page/${name}`, import.meta.url), "utf8");
    const headers = {
      "content-type": type,
      "content-security-policy": POLICY,
      "referrer-policy": "same-origin",
      "cross-origin-opener-policy": "same-origin",
      // Asked for again each time: after an upgrade no old script meets a new API.
      "cache-control": "no-cache",
    };
    return urls.map((url) => ({ url, body, headers }));
  });
}
