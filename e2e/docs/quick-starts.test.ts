/** The first page of each kind of reader, followed literally. */
import { QUICK_STARTS } from "../../tools/doc-tests/pages.ts";
import { testPages } from "./test-pages.ts";

testPages(QUICK_STARTS);
