/** The settings of inference: workarounds for faults of client libraries. */
import { declareSettings, flagSetting } from "../base/settings.ts";

interface InferenceConfig {
  /** Whether to answer base64 to versions of client libraries that corrupt float embeddings. */
  embeddingsBase64Compat: boolean;
}

export const inferenceSettings = declareSettings({
  title: "Client compatibility",
  settings: {
    EMBEDDINGS_BASE64_COMPAT: flagSetting(["true", "false"], {
      default: true,
      help: "Sends base64 embeddings to versions 4.91–7.11 of the `openai` JavaScript package, which turn float embeddings into zeros.",
    }),
  },
  config: (e): InferenceConfig => ({ embeddingsBase64Compat: e.EMBEDDINGS_BASE64_COMPAT }),
});
