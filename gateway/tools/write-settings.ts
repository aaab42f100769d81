/** Writes docs/operators/settings.md from the declarations of the settings: `npx node gateway/tools/write-settings.ts`. */
import { writeFile } from "node:fs/promises";
import { SETTINGS_PAGE, settingsPage } from "./settings-page.ts";

await writeFile(SETTINGS_PAGE, settingsPage());
