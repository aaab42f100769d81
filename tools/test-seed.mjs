// Loaded before every test file: what property tests draw follows TEST_SEED, so that a run depends on the sources alone. The nightly
// run takes a new seed each time; a test that fails prints what it drew.
import fc from "fast-check";

const { TEST_SEED } = process.env;
if (TEST_SEED !== undefined) fc.configureGlobal({ seed: Number(TEST_SEED) });
