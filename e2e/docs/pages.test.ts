/** Runs the code blocks of every guide that quick-starts.test.ts does not run, exactly as written. */
import { fileURLToPath } from "node:url";
import { guidePages, QUICK_STARTS } from "../../tools/doc-tests/pages.ts";
import { definePageTests } from "./define-page-tests.ts";

const elsewhere = new Set(QUICK_STARTS);
definePageTests(guidePages(fileURLToPath(new URL("../..", import.meta.url))).filter((file) => !elsewhere.has(file)));
