/** Runs the blocks of each reader's first page exactly as written. */
import { QUICK_STARTS } from "../../tools/doc-tests/pages.ts";
import { testPages } from "./test-pages.ts";

testPages(QUICK_STARTS);
