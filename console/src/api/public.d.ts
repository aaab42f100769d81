/** Types of the public API, written by tools/schema.ts from its OpenAPI document. Not to be changed by hand. */
export interface paths {
    "/.well-known/tollgate-receipts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the keys that verify receipts
         * @description Ed25519 public keys. With them anybody can check a usage receipt, without asking the gateway about it.
         */
        get: operations["listReceiptKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/catalog/rates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the price sheet
         * @description The same catalogue as a price sheet, without a key, with the share that hosts are paid.
         */
        get: operations["listRates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a conversation
         * @description Exactly one choice is returned. `max_tokens` caps the output and sizes the reservation; without it both follow the model's context limit, which may be more than your balance. Prompt and output share the context: a prompt that leaves no room for one token is a 400.
         *
         *     Accepted and ignored, like every field that is not listed: `tools`, `tool_choice`, `parallel_tool_calls`, `logprobs`, `top_logprobs`, `logit_bias`, `user`, `store`, `metadata` and `reasoning_effort`.
         *
         *     Thinking never stands in `content`. A model whose build keeps it apart returns it whole in `vendor_reasoning_content`, and it is billed as output.
         */
        post: operations["createChatCompletion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Complete a text
         * @description An array of prompts is joined with newlines into one prompt and gives one completion, not one per element. Token ids are refused.
         *
         *     Accepted and ignored, like every field that is not listed: `echo`, `best_of`, `suffix`, `tools`, `tool_choice`, `parallel_tool_calls`, `logprobs`, `top_logprobs`, `logit_bias`, `user`, `store`, `metadata` and `reasoning_effort`.
         */
        post: operations["createCompletion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/embeddings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Turn texts into vectors
         * @description Takes an embedding model; a generation model is a 404 `model_not_found`. Each input may be as long as the model's context limit. Token ids are refused.
         *
         *     `encoding_format` and `dimensions` are ignored: vectors are float arrays at the model's native width. Reservation and charge are for the input alone.
         */
        post: operations["createEmbedding"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the models
         * @description Every listed model, those that are still coming included. Counts as a request against the key's limit. What the reference dialect does not have is in `vendor`.
         */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ChatCompletion: {
            choices: {
                /**
                 * @description `length`: the output reached max_tokens, or prompt and output together the model's context limit. `stop`: the model ended, or a stop string came.
                 * @enum {string}
                 */
                finish_reason: "stop" | "length";
                /** @constant */
                index: 0;
                message: {
                    /** @description The answer alone, never the thinking. */
                    content: string;
                    /** @constant */
                    role: "assistant";
                    /** @description The model's thinking. Present only for a model whose build keeps thinking apart from the answer. */
                    vendor_reasoning_content?: string;
                };
            }[];
            /** @description Unix time in seconds. */
            created: number;
            /** @description Ends in the same 26 characters as x-request-id. */
            id: string;
            /** @description The model id that served the request. */
            model: string;
            /** @constant */
            object: "chat.completion";
            usage: components["schemas"]["Usage"];
        };
        /** @description One event of a streamed chat completion. id, created and model are the same in all of them. */
        ChatCompletionChunk: {
            /** @description One entry; none in the usage chunk. */
            choices: {
                delta: {
                    content?: string;
                    /** @constant */
                    role?: "assistant";
                    /** @description The model's thinking. Present only for a model whose build keeps thinking apart from the answer. */
                    vendor_reasoning_content?: string;
                };
                finish_reason: ("stop" | "length") | null;
                /** @constant */
                index: 0;
            }[];
            /** @description Unix time in seconds. */
            created: number;
            /** @description Ends in the same 26 characters as x-request-id. */
            id: string;
            /** @description The model id that served the request. */
            model: string;
            /** @constant */
            object: "chat.completion.chunk";
            /** @description Only with stream_options.include_usage: null until the usage chunk. */
            usage?: components["schemas"]["Usage"] | null;
        };
        ChatMessage: {
            /** @description Required, and null only for an assistant that has tool_calls. */
            content?: (string | {
                text: string;
                /** @constant */
                type: "text";
            }[]) | null;
            /** @enum {string} */
            role: "system" | "developer" | "user" | "assistant" | "tool" | "function";
            /** @description Not shown to the model. */
            tool_calls?: unknown[] | null;
        };
        ChatRequest: {
            frequency_penalty?: number;
            /** @description An alias of max_tokens; wins when both are set. */
            max_completion_tokens?: number;
            /** @description Caps the output and sizes the reservation. Default, and the most that counts: the model's context limit. */
            max_tokens?: number;
            messages: components["schemas"]["ChatMessage"][];
            /** @description A model id of GET /v1/models. */
            model: string;
            /**
             * @description Exactly one choice is returned.
             * @constant
             */
            n?: 1;
            presence_penalty?: number;
            /** @description Text only: no other format is enforced. */
            response_format?: {
                /** @constant */
                type: "text";
            };
            /** @description Within ±2^53. */
            seed?: number;
            /** @description Output ends before any of these; thinking that is kept apart is not searched. */
            stop?: string | string[];
            /** @description True gives server-sent events. Default: false. */
            stream?: boolean;
            /** @description Ignored without stream. */
            stream_options?: {
                include_usage?: boolean | null;
            };
            temperature?: number;
            top_p?: number;
        };
        CompletionRequest: {
            frequency_penalty?: number;
            /** @description An alias of max_tokens; wins when both are set. */
            max_completion_tokens?: number;
            /** @description Caps the output and sizes the reservation. Default, and the most that counts: the model's context limit. */
            max_tokens?: number;
            /** @description A model id of GET /v1/models. */
            model: string;
            /**
             * @description Exactly one choice is returned.
             * @constant
             */
            n?: 1;
            presence_penalty?: number;
            /**
             * @description An array is joined with newlines into one prompt.
             * @default
             */
            prompt: string | string[];
            /** @description Text only: no other format is enforced. */
            response_format?: {
                /** @constant */
                type: "text";
            };
            /** @description Within ±2^53. */
            seed?: number;
            /** @description Output ends before any of these; thinking that is kept apart is not searched. */
            stop?: string | string[];
            /** @description True gives server-sent events. Default: false. */
            stream?: boolean;
            /** @description Ignored without stream. */
            stream_options?: {
                include_usage?: boolean | null;
            };
            temperature?: number;
            top_p?: number;
        };
        EmbeddingList: {
            /** @description One entry per input, in their order. */
            data: {
                /** @description Floats at the model's native width. */
                embedding: number[];
                index: number;
                /** @constant */
                object: "embedding";
            }[];
            /** @description The model id that served the request. */
            model: string;
            /** @constant */
            object: "list";
            usage: {
                prompt_tokens: number;
                /** @description Equal to prompt_tokens: embeddings have no output tokens. */
                total_tokens: number;
            };
        };
        EmbeddingRequest: {
            /** @description One vector per element, in order. */
            input: string | string[];
            /** @description A model id of GET /v1/models. */
            model: string;
        };
        /** @description The one shape of every error. */
        Error: {
            error: {
                /** @description hold_exceeds_balance only: what is free, in microdollars. */
                available_micro?: number;
                /**
                 * @description The stable contract: branch on this. A 400 has none.
                 * @enum {string}
                 */
                code?: "invalid_api_key" | "request_too_large" | "rate_limit_requests" | "rate_limit_tokens" | "rate_limit_streams" | "model_not_found" | "rate_limit_sku_capacity" | "insufficient_credits" | "hold_exceeds_balance" | "no_capacity" | "upstream_failed" | "upstream_stall" | "internal_error";
                /** @description For people. The text may change. */
                message: string;
                /** @description 400 only: the field that is wrong, such as `messages[2].content`. */
                param?: string;
                /** @description hold_exceeds_balance only: the reservation, in microdollars. */
                required_micro?: number;
                /** @description Equal to code where there is one. */
                type: string;
            };
        };
        Model: {
            /** @description When the model was listed, Unix time in seconds. */
            created: number;
            id: string;
            /** @constant */
            object: "model";
            owned_by: string;
            /** @description Everything that the reference dialect does not have. */
            vendor: {
                /** @enum {string} */
                class: "tiny" | "small" | "mid" | "reasoning" | "embed" | "large";
                /** @description The window in tokens. */
                context_limit: number | null;
                /** @description Microdollars per million input tokens; null where there is no price. */
                price_in_micro_1m: number | null;
                /** @description Microdollars per million output tokens; null where there is no price. */
                price_out_micro_1m: number | null;
                /** @description Quantisation, such as `4-bit`; `unannounced` for a model that is coming. */
                quant_label: string;
                /**
                 * @description `coming`: listed, and cannot be called yet.
                 * @enum {string}
                 */
                status: "active" | "coming";
                /** @description Median tokens per second, on the same basis. */
                tps_p50: number | null;
                /** @description Median time to the first token, over the nodes that can serve the model now; null before any did. */
                ttft_p50_ms: number | null;
            };
        };
        ModelList: {
            data: components["schemas"]["Model"][];
            /** @constant */
            object: "list";
        };
        Rate: {
            /** @enum {string} */
            class: "tiny" | "small" | "mid" | "reasoning" | "embed" | "large";
            /** @description The window in tokens. */
            context_limit: number | null;
            /** @description Microdollars per million input tokens; null where there is no price. */
            price_in_micro_1m: number | null;
            /** @description Microdollars per million output tokens; null where there is no price. */
            price_out_micro_1m: number | null;
            /** @description Quantisation, such as `4-bit`; `unannounced` for a model that is coming. */
            quant_label: string;
            /** @description What a cost estimate has to know about thinking. */
            reasoning: {
                billed_as: "output" | null;
                /** @description Where the thinking is returned. */
                field: "vendor_reasoning_content" | null;
                /** @description Whether the model thinks apart from its answer. */
                separate: boolean;
            };
            /** @description The model id. */
            sku_id: string;
            /**
             * @description `coming`: listed, and cannot be called yet.
             * @enum {string}
             */
            status: "active" | "coming";
        };
        RateSheet: {
            data: components["schemas"]["Rate"][];
            /** @constant */
            object: "list";
            /** @description The fraction of each dollar that the serving host is paid. */
            payout_share: number;
        };
        ReceiptKeys: {
            /** @constant */
            algorithm: "ed25519";
            /** @description Every key that ever signed a receipt. */
            keys: {
                id: string;
                /** @description 32 bytes in base64url. */
                public_key: string;
            }[];
            /** @constant */
            object: "receipt.keys";
        };
        TextCompletion: {
            choices: {
                /**
                 * @description `length`: the output reached max_tokens, or prompt and output together the model's context limit. `stop`: the model ended, or a stop string came.
                 * @enum {string}
                 */
                finish_reason: "stop" | "length";
                /** @constant */
                index: 0;
                text: string;
            }[];
            /** @description Unix time in seconds. */
            created: number;
            /** @description Ends in the same 26 characters as x-request-id. */
            id: string;
            /** @description The model id that served the request. */
            model: string;
            /** @constant */
            object: "text_completion";
            usage: components["schemas"]["Usage"];
        };
        /** @description One event of a streamed text completion. id, created and model are the same in all of them. */
        TextCompletionChunk: {
            /** @description One entry; none in the usage chunk. */
            choices: {
                finish_reason: ("stop" | "length") | null;
                /** @constant */
                index: 0;
                text: string;
            }[];
            /** @description Unix time in seconds. */
            created: number;
            /** @description Ends in the same 26 characters as x-request-id. */
            id: string;
            /** @description The model id that served the request. */
            model: string;
            /** @constant */
            object: "text_completion";
            /** @description Only with stream_options.include_usage: null until the usage chunk. */
            usage?: components["schemas"]["Usage"] | null;
        };
        /** @description Counted by the gateway. This is what is billed. */
        Usage: {
            /** @description Includes reasoning tokens, which are billed as output. */
            completion_tokens: number;
            prompt_tokens: number;
            total_tokens: number;
        };
    };
    responses: {
        /**
         * @description A fault of ours. The message holds the request's id.
         *
         *     - `internal_error`: Something went wrong on our side.
         */
        InternalError: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description The body is not valid JSON, or a field is wrong. The message names the field and the rule.
         *
         *     - no code, type `invalid_request_error`
         */
        InvalidRequest: {
            headers: {
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-limit-tokens": components["headers"]["x-ratelimit-limit-tokens"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-remaining-tokens": components["headers"]["x-ratelimit-remaining-tokens"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-reset-tokens": components["headers"]["x-ratelimit-reset-tokens"];
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description A limit of the key is reached.
         *
         *     - `rate_limit_requests`: Too many requests this minute on this key.
         *     - `rate_limit_tokens`: This key's token budget for this minute is spent.
         *     - `rate_limit_streams`: Too many requests in flight on this key.
         */
        KeyLimited: {
            headers: {
                "retry-after": components["headers"]["retry-after"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-limit-tokens": components["headers"]["x-ratelimit-limit-tokens"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-remaining-tokens": components["headers"]["x-ratelimit-remaining-tokens"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-reset-tokens": components["headers"]["x-ratelimit-reset-tokens"];
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description A limit of the key, or the platform's ceiling for the model, is reached.
         *
         *     - `rate_limit_requests`: Too many requests this minute on this key.
         *     - `rate_limit_tokens`: This key's token budget for this minute is spent.
         *     - `rate_limit_streams`: Too many requests in flight on this key.
         *     - `rate_limit_sku_capacity`: The platform is at its ceiling for this model. Try again in a second, or use another model.
         */
        Limited: {
            headers: {
                "retry-after": components["headers"]["retry-after"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-limit-tokens": components["headers"]["x-ratelimit-limit-tokens"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-remaining-tokens": components["headers"]["x-ratelimit-remaining-tokens"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-reset-tokens": components["headers"]["x-ratelimit-reset-tokens"];
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description The model does not exist, is not out yet, or is of the wrong kind for this endpoint.
         *
         *     - `model_not_found`: No such model for this endpoint. GET /v1/models lists what can be called.
         */
        ModelNotFound: {
            headers: {
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-limit-tokens": components["headers"]["x-ratelimit-limit-tokens"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-remaining-tokens": components["headers"]["x-ratelimit-remaining-tokens"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-reset-tokens": components["headers"]["x-ratelimit-reset-tokens"];
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description The platform could not take the request in time. On a stream that has begun: the terminal error event.
         *
         *     - `no_capacity`: No node could take this request in time. Nothing was billed; it is safe to try again.
         */
        NoCapacity: {
            headers: {
                "retry-after": components["headers"]["retry-after"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-limit-tokens": components["headers"]["x-ratelimit-limit-tokens"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-remaining-tokens": components["headers"]["x-ratelimit-remaining-tokens"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-reset-tokens": components["headers"]["x-ratelimit-reset-tokens"];
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description The node that took the request did not finish it. On a stream that has begun: the terminal error event.
         *
         *     - `upstream_failed`: The node that served this request could not finish it. The prompt and what was generated are billed.
         *     - `upstream_stall`: The node that served this request went quiet. What was generated, with its prompt, is billed; nothing if nothing was.
         */
        NodeFailed: {
            headers: {
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-limit-tokens": components["headers"]["x-ratelimit-limit-tokens"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-remaining-tokens": components["headers"]["x-ratelimit-remaining-tokens"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-reset-tokens": components["headers"]["x-ratelimit-reset-tokens"];
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description Not enough credit for the reservation that the request needs.
         *
         *     - `insufficient_credits`: Your balance is used up. Add credits to go on.
         *     - `hold_exceeds_balance`: This request needs a larger reservation than your balance. Lower max_tokens or add credits.
         */
        PaymentRequired: {
            headers: {
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-limit-tokens": components["headers"]["x-ratelimit-limit-tokens"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-remaining-tokens": components["headers"]["x-ratelimit-remaining-tokens"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-reset-tokens": components["headers"]["x-ratelimit-reset-tokens"];
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description The body is too large.
         *
         *     - `request_too_large`: The request body exceeds 10 MiB.
         */
        RequestTooLarge: {
            headers: {
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-limit-tokens": components["headers"]["x-ratelimit-limit-tokens"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-remaining-tokens": components["headers"]["x-ratelimit-remaining-tokens"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-reset-tokens": components["headers"]["x-ratelimit-reset-tokens"];
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description No valid API key.
         *
         *     - `invalid_api_key`: Missing, malformed, unknown or revoked API key. Send it as: Authorization: Bearer tsk_live_…
         */
        Unauthorized: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description The body is compressed.
         *
         *     - no code, type `invalid_request_error`
         */
        UnsupportedEncoding: {
            headers: {
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-limit-tokens": components["headers"]["x-ratelimit-limit-tokens"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-remaining-tokens": components["headers"]["x-ratelimit-remaining-tokens"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-reset-tokens": components["headers"]["x-ratelimit-reset-tokens"];
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description Anybody may keep the answer for five minutes. */
        "cache-control": "public, max-age=300";
        /** @description Whole seconds to wait before trying again. On every 429 and 503. */
        "retry-after": number;
        /** @description Requests that the key may make in a minute. */
        "x-ratelimit-limit-requests": number;
        /** @description Tokens, prompt and output together, that the key may use in a minute. */
        "x-ratelimit-limit-tokens": number;
        /** @description Requests left in the current minute. */
        "x-ratelimit-remaining-requests": number;
        /** @description Tokens left in the current minute. A request's tokens are counted when it ends. */
        "x-ratelimit-remaining-tokens": number;
        /** @description Time until the requests are counted anew, such as `12ms`, `1s` or `6m0s`. */
        "x-ratelimit-reset-requests": string;
        /** @description Time until the tokens are counted anew, such as `12ms`, `1s` or `6m0s`. */
        "x-ratelimit-reset-tokens": string;
        /** @description The request's id, on every response. The same suffix identifies the call in the usage history. */
        "x-request-id": string;
        /** @description On errors: whether a client should try again by itself. Absent where it is as the client likes. */
        "x-should-retry": "true" | "false";
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listReceiptKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The published keys. */
            200: {
                headers: {
                    "cache-control": components["headers"]["cache-control"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReceiptKeys"];
                };
            };
            500: components["responses"]["InternalError"];
        };
    };
    listRates: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The prices in force. */
            200: {
                headers: {
                    "cache-control": components["headers"]["cache-control"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RateSheet"];
                };
            };
            500: components["responses"]["InternalError"];
        };
    };
    createChatCompletion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatRequest"];
            };
        };
        responses: {
            /** @description The answer: one JSON object, or with `stream: true` server-sent events. */
            200: {
                headers: {
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-limit-tokens": components["headers"]["x-ratelimit-limit-tokens"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-remaining-tokens": components["headers"]["x-ratelimit-remaining-tokens"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-reset-tokens": components["headers"]["x-ratelimit-reset-tokens"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatCompletion"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            402: components["responses"]["PaymentRequired"];
            404: components["responses"]["ModelNotFound"];
            413: components["responses"]["RequestTooLarge"];
            415: components["responses"]["UnsupportedEncoding"];
            429: components["responses"]["Limited"];
            500: components["responses"]["InternalError"];
            502: components["responses"]["NodeFailed"];
            503: components["responses"]["NoCapacity"];
        };
    };
    createCompletion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompletionRequest"];
            };
        };
        responses: {
            /** @description The answer: one JSON object, or with `stream: true` server-sent events. */
            200: {
                headers: {
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-limit-tokens": components["headers"]["x-ratelimit-limit-tokens"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-remaining-tokens": components["headers"]["x-ratelimit-remaining-tokens"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-reset-tokens": components["headers"]["x-ratelimit-reset-tokens"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TextCompletion"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            402: components["responses"]["PaymentRequired"];
            404: components["responses"]["ModelNotFound"];
            413: components["responses"]["RequestTooLarge"];
            415: components["responses"]["UnsupportedEncoding"];
            429: components["responses"]["Limited"];
            500: components["responses"]["InternalError"];
            502: components["responses"]["NodeFailed"];
            503: components["responses"]["NoCapacity"];
        };
    };
    createEmbedding: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmbeddingRequest"];
            };
        };
        responses: {
            /** @description One vector per input. */
            200: {
                headers: {
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-limit-tokens": components["headers"]["x-ratelimit-limit-tokens"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-remaining-tokens": components["headers"]["x-ratelimit-remaining-tokens"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-reset-tokens": components["headers"]["x-ratelimit-reset-tokens"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmbeddingList"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["Unauthorized"];
            402: components["responses"]["PaymentRequired"];
            404: components["responses"]["ModelNotFound"];
            413: components["responses"]["RequestTooLarge"];
            415: components["responses"]["UnsupportedEncoding"];
            429: components["responses"]["Limited"];
            500: components["responses"]["InternalError"];
            502: components["responses"]["NodeFailed"];
            503: components["responses"]["NoCapacity"];
        };
    };
    listModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every listed model. */
            200: {
                headers: {
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-limit-tokens": components["headers"]["x-ratelimit-limit-tokens"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-remaining-tokens": components["headers"]["x-ratelimit-remaining-tokens"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-reset-tokens": components["headers"]["x-ratelimit-reset-tokens"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["KeyLimited"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["NoCapacity"];
        };
    };
}
