/** The settings of API keys: the secret that hashes them (the pepper), and its replacement. */
import { declareSettings, findRotationMistakes, textSetting } from "../base/settings.ts";

interface KeysConfig {
  /** The secret for hashing keys and tokens. Undefined: the pepper in the data directory is used. */
  keyPepper: string | undefined;
  /** The previous or the next pepper, during a replacement. */
  keyPepperOld: string | undefined;
  keyPepperNext: string | undefined;
}

const long = { matches: /^.{32}/s, rule: "have 32 characters or more", secret: true };

export const keySettings = declareSettings({
  title: "API keys",
  settings: {
    KEY_PEPPER: textSetting({
      ...long,
      without: "generated and kept in `DATA_DIR`",
      help: "Secret that hashes all API keys, required when `DATABASE_URL` is set; losing it invalidates all keys.",
    }),
    KEY_PEPPER_OLD: textSetting({
      ...long,
      help: "The previous pepper, still accepted while you replace `KEY_PEPPER`.",
      see: "[Secrets](secrets.md)",
    }),
    KEY_PEPPER_NEXT: textSetting({
      ...long,
      help: "The pepper that will replace `KEY_PEPPER`; gateways already accept it.",
      see: "[Secrets](secrets.md)",
    }),
  },
  mistakes: (variables) => findRotationMistakes("KEY_PEPPER", variables),
  config: (e): KeysConfig => ({
    keyPepper: e.KEY_PEPPER,
    keyPepperOld: e.KEY_PEPPER_OLD,
    keyPepperNext: e.KEY_PEPPER_NEXT,
  }),
});
