/** The settings of the model catalogue. */
import { declareSettings, textSetting } from "../base/settings.ts";

interface CatalogueConfig {
  catalogueFile: string | undefined;
}

export const catalogueSettings = declareSettings({
  title: "Models",
  settings: {
    CATALOGUE_FILE: textSetting({
      without: "the built-in catalogue",
      help: "JSON file with the models and their prices, in the format of `gateway/catalogue/models.json`.",
    }),
  },
  config: (e): CatalogueConfig => ({ catalogueFile: e.CATALOGUE_FILE }),
});
