/**
 * Builds the console: one document under /console/, hashed assets, nothing inline, and compressed copies of every text
 * file.
 */
import { fileURLToPath } from "node:url";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { checkDownloadSize } from "./tools/check-download-size.ts";
import { compressFiles } from "./tools/compress-files.ts";
import { earlyScript } from "./tools/early-script.ts";
import { lucideIcons } from "./tools/lucide-icons.ts";
import { serviceWorkerPlugin } from "./tools/write-service-worker.ts";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: at("."),
  base: "/console/",
  plugins: [
    lucideIcons(),
    react(),
    tailwind(),
    earlyScript(),
    serviceWorkerPlugin(),
    checkDownloadSize(),
    compressFiles(),
  ],
  resolve: {
    // Radix locks scrolling with a <style> element created at run time, which the Content-Security-Policy forbids.
    alias: { "react-remove-scroll": at("src/ui/scroll-lock.tsx") },
  },
  build: {
    outDir: at("dist"),
    emptyOutDir: true,
    target: "es2023",
    // Never inlines assets, because the Content-Security-Policy forbids data: URLs.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // One file for code that most pages share: browsers load six files at a time, so 30 small files take
            // longer.
            {
              name: "shared",
              test: /console\/src\/(ui(?!\/chart)|data|api|nodes|requests|secrets)\//,
              minShareCount: 3,
              priority: 2,
            },
            // One separate file for code that only a few pages share, mostly charts.
            {
              name: "figures",
              test: /console\/src\/(?!pages|routes|layout)|\/useInfiniteQuery/,
              minShareCount: 2,
              priority: 1,
            },
          ],
        },
      },
    },
  },
  server: { port: 5173, proxy: { "/console/api": "http://127.0.0.1:8080", "/v1": "http://127.0.0.1:8080" } },
});
