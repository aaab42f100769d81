/** Runs the code blocks of the first page of each kind of reader, exactly as written. */
import { QUICK_STARTS } from "../../tools/doc-tests/pages.ts";
import { testPages } from "./test-pages.ts";

testPages(QUICK_STARTS);
