/** Runs the code blocks of the first page of each kind of reader, exactly as written. */
import { QUICK_STARTS } from "../../tools/doc-tests/pages.ts";
import { definePageTests } from "./define-page-tests.ts";

definePageTests(QUICK_STARTS);
