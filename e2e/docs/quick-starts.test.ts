/** Runs the code blocks of the README, the start page and the quick starts, exactly as written. */
import { QUICK_STARTS } from "../../tools/doc-tests/pages.ts";
import { definePageTests } from "./define-page-tests.ts";

definePageTests(QUICK_STARTS);
