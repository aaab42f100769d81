/** Types of the console, written by tools/schema.ts from its OpenAPI document. Not to be changed by hand. */
export interface paths {
    "/console/api/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Open an account */
        post: operations["openAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/accounts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Rename an account */
        patch: operations["renameAccount"];
        trace?: never;
    };
    "/console/api/auth/callback/{provider}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Come back from an OpenID provider
         * @description For browsers. The provider adds `code` and `state`, or `error`. What became of it is in `sign_in` of the address that the browser is sent to: nothing when they are in, else `two_factor_required`, `account_not_linked`, `email_not_verified`, `provider_refused`, `expired` or `failed`.
         */
        get: operations["finishOpenId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/change-password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change one's password
         * @description Ends every other session.
         */
        post: operations["changePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/get-session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read who is signed in, and stay so
         * @description Makes the session last again.
         */
        get: operations["getSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/methods": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read how people can sign in */
        get: operations["getSignInMethods"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/request-email-verification": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have a link mailed that confirms an e-mail address */
        post: operations["requestEmailVerification"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/request-password-reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Have a link mailed that sets a new password */
        post: operations["requestPasswordReset"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/reset-password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set a new password by a mailed link
         * @description Ends every session of the identity.
         */
        post: operations["resetPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/sign-in/code": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in: the second step
         * @description After a password or a provider that was answered with `two_factor_required`.
         */
        post: operations["signInWithCode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/sign-in/email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign in */
        post: operations["signIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/sign-in/openid": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign in by an OpenID provider */
        post: operations["signInWithOpenId"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/sign-out": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign out */
        post: operations["signOut"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/sign-up/email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign up */
        post: operations["signUp"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/two-factor/backup-codes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get new backup codes
         * @description The old ones are worthless from then on.
         */
        post: operations["replaceBackupCodes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/two-factor/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Turn the second factor on */
        post: operations["confirmTwoFactor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/two-factor/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Turn the second factor off */
        post: operations["disableTwoFactor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/two-factor/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Set up a second factor
         * @description It is asked for at sign-in once a first code has confirmed it.
         */
        post: operations["enableTwoFactor"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/auth/verify-email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Confirm an e-mail address */
        post: operations["verifyEmail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/balance": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the balance */
        get: operations["getBalance"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/credits/checkout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Buy a pack of credit
         * @description The credit comes when the payment provider says that it was paid, whatever the browser does meanwhile. An account has at most 10 open checkouts of the last hour.
         */
        post: operations["createCheckout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/earnings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what requests earned
         * @description The newest first, each with the request that earned it.
         */
        get: operations["listEarnings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/earnings.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export what requests earned
         * @description Every request that earned, the newest first, in one file.
         */
        get: operations["exportEarnings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/earnings/{id}/receipt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the signed receipt of a request that earned
         * @description The same one that the builder gets. The keys to check it with are at /.well-known/tollgate-receipts.
         */
        get: operations["getEarningReceipt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/earnings/sums": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sum up what was earned
         * @description Sums are of whole hours. By the hour a span has at most 31 days.
         */
        get: operations["sumEarnings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/host-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the host tokens
         * @description Those that work, then those that were revoked, each the newest first.
         */
        get: operations["listHostTokens"];
        put?: never;
        /**
         * Create a host token
         * @description An account has at most 100 that work.
         */
        post: operations["createHostToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/host-tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a host token
         * @description For good. Revoking what is revoked changes nothing and is no mistake.
         */
        delete: operations["revokeHostToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the API keys
         * @description Those that work, then those that were revoked, each the newest first.
         */
        get: operations["listKeys"];
        put?: never;
        /**
         * Create an API key
         * @description An account has at most 500 that work.
         */
        post: operations["createKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API key
         * @description For good. Revoking what is revoked changes nothing and is no mistake.
         */
        delete: operations["revokeKey"];
        options?: never;
        head?: never;
        /**
         * Rename an API key
         * @description Requests that were made under the old name keep it in the history.
         */
        patch: operations["renameKey"];
        trace?: never;
    };
    "/console/api/ledger": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the statement
         * @description Every entry of the account's books, the newest first.
         */
        get: operations["listLedger"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Watch a builder account */
        get: operations["watchAccount"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read who is signed in and what they own */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the models as they stand now
         * @description The whole catalogue, with the speed and the room of the nodes that serve each model at the moment.
         */
        get: operations["listLiveModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/node-models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the models that can be elected */
        get: operations["listNodeModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the nodes
         * @description All of the host's, the oldest first.
         */
        get: operations["listNodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/nodes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a node and how it does */
        get: operations["getNode"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/nodes/{id}/elections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Elect the models that a node serves
         * @description Takes the place of what was elected before. An empty list elects none.
         */
        put: operations["electModels"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/nodes/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a node
         * @description It finishes what it has and is offered nothing more.
         */
        post: operations["pauseNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/nodes/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resume a node */
        post: operations["resumeNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search the accounts
         * @description The newest first.
         */
        get: operations["listAccounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/accounts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an account */
        get: operations["getAccount"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/accounts/{id}/grant": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Grant credit to a builder */
        post: operations["grantCredit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/accounts/{id}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List an account's API keys
         * @description Those that work, then those that were revoked, each the newest first. Which of their limits are their own is said beside.
         */
        get: operations["listAccountKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/accounts/{id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Restore a suspended account */
        post: operations["restoreAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/accounts/{id}/suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Suspend an account
         * @description A builder's keys and a host's nodes do nothing more. Suspending the suspended changes nothing.
         */
        post: operations["suspendAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what operators did
         * @description The newest first. Nothing in it is ever rewritten.
         */
        get: operations["listOperatorActions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/keys/{id}/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set the limits of one API key
         * @description All three are set: what is null or not named goes back to the platform's limit.
         */
        put: operations["setKeyLimits"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/ledger/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Prove the books
         * @description Works every figure out again from what lies below it. Takes a while on a large platform.
         */
        get: operations["checkBooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Watch the platform */
        get: operations["watchPlatform"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search every host's nodes
         * @description The newest first.
         */
        get: operations["listPlatformNodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/nodes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read any node and how it does */
        get: operations["getPlatformNode"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/nodes/{id}/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let a node work in spite of its host's quarantine
         * @description For a node that gets no work because another of its host is in quarantine: an operator has looked.
         */
        post: operations["clearNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/nodes/{id}/quarantine": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Put a node in quarantine
         * @description It gets no more work, and its credentials are refused at once. The host reads the reason.
         */
        post: operations["quarantineNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/nodes/{id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Release a node from quarantine
         * @description It is paused then; its host resumes it.
         */
        post: operations["releaseNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the platform at a glance */
        get: operations["getOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/payouts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the payouts
         * @description The newest first.
         */
        get: operations["listPayouts"];
        put?: never;
        /**
         * Make a payout of what hosts are owed
         * @description What a host's owners owe on their builder accounts after refunds or disputes is set off first. Earnings younger than the hold-back are left for another time.
         */
        post: operations["createPayout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/payouts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a payout, host by host
         * @description Lines are by the hosts' names, in pages.
         */
        get: operations["getPayout"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/payouts/{id}/csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export a payout
         * @description For whoever sends the money.
         */
        get: operations["exportPayout"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/operator/payouts/{id}/paid": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Book a payout as paid
         * @description Once the money was sent. Said twice it is booked once.
         */
        post: operations["markPayoutPaid"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/packs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the packs of credit on offer */
        get: operations["listPacks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/quote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask what a chat request would hold
         * @description Counted by the model's own tokenizer, as if it were sent: the hold is the one that it would take. Nothing is held, and nothing is recorded. Other fields of a chat request are ignored.
         */
        post: operations["quoteChat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List requests
         * @description The newest first. Filters narrow each other.
         */
        get: operations["listRequests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/requests.csv": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export requests
         * @description Everything that the filters let through, the newest first, in one file.
         */
        get: operations["exportRequests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/requests/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a request */
        get: operations["getRequest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/requests/{id}/receipt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the signed receipt of a request
         * @description The keys to check it with are at /.well-known/tollgate-receipts.
         */
        get: operations["getReceipt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List where one is signed in
         * @description The newest first, in one page: there are at most 100, and a new one ends the oldest.
         */
        get: operations["listSessions"];
        put?: never;
        post?: never;
        /** Sign out everywhere else */
        delete: operations["endOtherSessions"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End one session */
        delete: operations["endSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/console/api/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sum up what was spent
         * @description Sums are of whole hours. A span has at most 400 days, by the hour at most 31.
         */
        get: operations["getUsage"];
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
        Account: {
            id: string;
            kind: components["schemas"]["AccountKind"];
            name: string;
            suspended: boolean;
        };
        /** @enum {string} */
        AccountKind: "builder" | "host";
        ApiKey: {
            /** @description Unix time in seconds. */
            created_at: number;
            id: string;
            last_used_at: number | null;
            /** @description What holds for this key: the platform's limits, or those that an operator set. */
            limits: {
                in_flight: number;
                requests_per_minute: number;
                tokens_per_minute: number;
            };
            /** @description Spend is attributed by it. */
            name: string;
            /** @constant */
            object: "api_key";
            revoked_at: number | null;
            /** @description Of the calendar month, in UTC. */
            spend_this_month: {
                charge_micro: components["schemas"]["Money"];
                requests: number;
            };
            /** @description How the key begins: enough to recognise it, and no secret. */
            start: string;
        };
        ApiKeyList: {
            data: components["schemas"]["ApiKey"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        Balance: {
            /** @description What a new request can reserve. */
            available_micro: components["schemas"]["Money"];
            /** @description All the credit. Below zero where a refund or a dispute took more than was left. */
            balance_micro: components["schemas"]["Money"];
            /** @description Reserved for requests under way. */
            held_micro: components["schemas"]["Money"];
            /** @constant */
            object: "balance";
        };
        BooksCheck: {
            /** @description Whether nothing differs anywhere. */
            balanced: boolean;
            checks: {
                /** @description How many things were looked at. */
                checked: number;
                /** @description What differs, the first few. */
                differences: string[];
                name: string;
            }[];
            /** @constant */
            object: "ledger_check";
        };
        ChangePasswordRequest: {
            /** @description The new password. */
            new_password: string;
            /** @description The present password. */
            password: string;
        };
        Checkout: {
            amount_micro: components["schemas"]["Money"];
            id: string;
            /** @constant */
            object: "checkout";
            pack_id: string;
            /** @description The payment provider's page: send the browser there. */
            url: string;
        };
        CheckoutRequest: {
            /** @description A pack on offer. */
            pack_id: string;
        };
        CreatePayoutRequest: {
            /** @description Hosts who are owed less are left for another time. Whole microdollars. */
            minimum_micro?: string | number;
            /** @description For people. By default `""`. */
            note?: string;
        };
        CurrentSession: {
            /** @description What they own, the oldest first. */
            accounts: components["schemas"]["Account"][];
            /** @description null: nobody is signed in. */
            identity: components["schemas"]["Identity"] | null;
        };
        Earning: {
            completion_tokens: number;
            earned_micro: components["schemas"]["Money"];
            /** @description Unix time in seconds. */
            finished_at: number;
            model: string | null;
            node: string | null;
            outcome: components["schemas"]["RequestOutcome"];
            /** @description Whether a builder account of the host's own owner asked for it. */
            own: boolean;
            prompt_tokens: number;
            request_id: string;
        };
        EarningList: {
            /** @description Of the whole account, whatever the filter. */
            balance: {
                /** @description Everything ever earned. */
                earned_micro: components["schemas"]["Money"];
                /** @description What of that is too young to be paid out. */
                held_back_micro: components["schemas"]["Money"];
                /** @description What of it came from requests of the host's own owners. */
                own_micro: components["schemas"]["Money"];
                /** @description What of it was paid out. */
                paid_out_micro: components["schemas"]["Money"];
                /** @description What of it is still owed. */
                pending_micro: components["schemas"]["Money"];
                /** @description What of it paid what builder accounts of the owners owed after refunds or disputes. */
                set_off_micro: components["schemas"]["Money"];
            };
            data: components["schemas"]["Earning"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
            /** @description Earned since midnight UTC, by the node that the filter names or by all. */
            today_micro: components["schemas"]["Money"];
        };
        /** @description One sum. It has the one of `day`, `hour`, `node` and `model` that `by` names, and the one of `node` and `model` that `split` names. */
        EarningSum: {
            completion_tokens: number;
            /** @description In UTC, such as `2026-11-15`. */
            day?: string;
            earned_micro: components["schemas"]["Money"];
            /** @description When it begins, such as `2026-11-15T06:00:00Z`. */
            hour?: string;
            model?: string;
            node?: string;
            /** @description What of it came from requests of the host's own owners. */
            own_micro: components["schemas"]["Money"];
            prompt_tokens: number;
            requests: number;
        };
        EarningSumList: {
            /** @enum {string} */
            by: "day" | "hour" | "node" | "model";
            data: components["schemas"]["EarningSum"][];
            /** @description Unix time in seconds. */
            from: number;
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
            /** @description Unix time in seconds. */
            to: number;
        };
        ElectModelsRequest: {
            /** @description Ids of active models; see the list of models that can be elected. */
            models: string[];
        };
        EmailRequest: {
            /** Format: email */
            email: string;
        };
        EmailVerified: {
            /** @constant */
            status: "email_verified";
        };
        /** @description The one shape of every error. */
        Error: {
            error: {
                /**
                 * @description The stable contract: branch on this. Most 400 have none.
                 * @enum {string}
                 */
                code?: "account_suspended" | "billing_disabled" | "cross_site_blocked" | "email_not_verified" | "host_only" | "internal_error" | "invalid_cursor" | "limit_reached" | "member_only" | "model_not_found" | "no_account" | "no_capacity" | "node_not_found" | "node_quarantined" | "node_state_conflict" | "not_a_builder" | "not_authenticated" | "not_found" | "nothing_owed" | "operator_only" | "payment_provider_unavailable" | "payout_exceeds_balance" | "rate_limit_requests" | "request_too_large" | "sign_in_provider_unavailable" | "too_many_viewers" | "unknown_model" | "unknown_outcome" | "unknown_pack";
                /** @description For people. The text may change. */
                message: string;
                /** @description The field, parameter or header that is wrong. */
                param?: string;
                /** @description Equal to code where there is one. */
                type: string;
            };
        };
        GrantRequest: {
            /** @description Whole microdollars, as a number or as digits: 1 to 1000000000000. The balance may not pass 9000000000000. */
            amount_micro: string | number;
            /** @description Stands in the statement and in the record of what operators did. */
            reason: string;
        };
        HostToken: {
            /** @description Unix time in seconds. */
            created_at: number;
            id: string;
            last_used_at: number | null;
            name: string;
            /** @constant */
            object: "host_token";
            revoked_at: number | null;
            /** @description How the token begins: enough to recognise it, and no secret. */
            start: string;
        };
        HostTokenList: {
            data: components["schemas"]["HostToken"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        /** @description A person who signs in. */
        Identity: {
            email: string;
            email_verified: boolean;
            id: string;
            name: string;
            /** @description Whether they run the platform. */
            operator: boolean;
            /** @description Whether a code is asked for at sign-in. */
            two_factor: boolean;
        };
        KeyLimits: {
            /** @description The platform's limits. */
            default_limits: {
                in_flight: number;
                requests_per_minute: number;
                tokens_per_minute: number;
            };
            id: string;
            /** @description What holds for the key now. */
            limits: {
                in_flight: number;
                requests_per_minute: number;
                tokens_per_minute: number;
            };
            /** @constant */
            object: "key_limits";
            /** @description What an operator set for this key; null where the platform's limit holds. */
            own_limits: {
                in_flight: number | null;
                requests_per_minute: number | null;
                tokens_per_minute: number | null;
            };
        };
        KeyLimitsRequest: {
            /** @description Requests at the same time. By default `null`. */
            in_flight?: number | null;
            /** @description null, or not named: the platform's limit, here and below. At most 999999999, here and below. By default `null`. */
            requests_per_minute?: number | null;
            /** @description Prompt and output together. By default `null`. */
            tokens_per_minute?: number | null;
        };
        LedgerEntry: {
            /** @description Below zero where it left the account. */
            amount_micro: components["schemas"]["Money"];
            /** @description Unix time in seconds. */
            at: number;
            /** @enum {string} */
            kind: "charge" | "grant" | "purchase" | "refund" | "dispute" | "payout" | "setoff";
            /** @constant */
            object: "ledger_entry";
            /** @description Why a transfer was made. */
            reason: string | null;
            /** @description The request that was charged; null for a transfer. */
            request_id: string | null;
            /** @description The transfer; null for a request. */
            transfer_id: string | null;
        };
        LedgerEntryList: {
            data: components["schemas"]["LedgerEntry"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        /** @description The same whether or not anybody has that address. */
        LetterSent: {
            /** @constant */
            status: "sent_if_known";
        };
        /** @description A node without the facts of its machine, which reading the node itself tells. */
        ListedNode: {
            /** @description The agent's own name and version. */
            agent: string;
            /** @description Unix time in seconds. */
            created_at: number;
            id: string;
            /** @description The models it elected to serve. */
            models: string[];
            /** @description One of a kind among the host's nodes. */
            name: string;
            /** @constant */
            object: "node";
            /** @description Null once the node is trusted. */
            probation: components["schemas"]["Probation"] | null;
            quarantine: components["schemas"]["Quarantine"] | null;
            state: components["schemas"]["NodeState"];
            withheld: components["schemas"]["Withheld"] | null;
        };
        ListedPlatformNode: {
            /** @description The host's account. */
            account: string;
            /** @description Its name. */
            account_name: string;
            /** @description The agent's own name and version. */
            agent: string;
            /** @description Unix time in seconds. */
            created_at: number;
            id: string;
            /** @description The models it elected to serve. */
            models: string[];
            /** @description One of a kind among the host's nodes. */
            name: string;
            /** @constant */
            object: "node";
            /** @description Null once the node is trusted. */
            probation: components["schemas"]["Probation"] | null;
            quarantine: components["schemas"]["Quarantine"] | null;
            state: components["schemas"]["NodeState"];
            withheld: components["schemas"]["Withheld"] | null;
        };
        LiveLoad: {
            capacity: components["schemas"]["ModelCapacity"][];
            held_micro: components["schemas"]["Money"];
            /** @description Requests under way, of all builders. */
            in_flight: number;
            nodes: components["schemas"]["NodesByState"];
        };
        LiveModel: {
            /** @description How many of those are taken. */
            busy: number;
            /** @enum {string} */
            class: "tiny" | "small" | "mid" | "reasoning" | "embed" | "large";
            context_limit: number | null;
            id: string;
            /** @enum {string} */
            kind: "generation" | "embedding";
            /** @description How many connected nodes serve it. */
            nodes: number;
            /** @constant */
            object: "model";
            /** @description Microdollars per million input tokens; null where there is no price yet. */
            price_in_micro_1m: number | null;
            /** @description Microdollars per million output tokens; null for embeddings too. */
            price_out_micro_1m: number | null;
            quant_label: string;
            /** @description It thinks apart from its answer. The thinking is billed as output. */
            reasoning: boolean;
            /** @description How many requests they take at once. */
            slots: number;
            /** @enum {string} */
            status: "active" | "coming";
            /** @description Median tokens per second, on the same basis. */
            tps_p50: number | null;
            /** @description Median time to the first token over the nodes that serve it now; null before any was measured. */
            ttft_p50_ms: number | null;
        };
        LiveModelList: {
            data: components["schemas"]["LiveModel"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        LiveRequests: {
            /** @description Requests under way. */
            in_flight: number;
            /** @description The newest of the history. */
            latest: string | null;
        };
        Me: {
            /** @description The oldest first. */
            accounts: components["schemas"]["Account"][];
            identity: components["schemas"]["Identity"];
        };
        /** @description As the gateway that answers sees it. */
        ModelCapacity: {
            /** @description How many of the slots are taken. */
            busy: number;
            model: string;
            /** @description Connected nodes that serve it. */
            nodes: number;
            /** @description How many requests they take at once. */
            slots: number;
        };
        /** @description Microdollars as a decimal string with six digits after the point: `1000000.000000` is $1. Never a float. */
        Money: string;
        NameRequest: {
            /** @description For people. Space around it is cut off. */
            name: string;
        };
        NewApiKey: {
            /** @description Unix time in seconds. */
            created_at: number;
            id: string;
            last_used_at: number | null;
            /** @description What holds for this key: the platform's limits, or those that an operator set. */
            limits: {
                in_flight: number;
                requests_per_minute: number;
                tokens_per_minute: number;
            };
            /** @description Spend is attributed by it. */
            name: string;
            /** @constant */
            object: "api_key";
            revoked_at: number | null;
            /** @description The key itself, `tsk_live_<reference>_<secret>`. Shown here and never again. */
            secret: string;
            /** @description Of the calendar month, in UTC. */
            spend_this_month: {
                charge_micro: components["schemas"]["Money"];
                requests: number;
            };
            /** @description How the key begins: enough to recognise it, and no secret. */
            start: string;
        };
        NewBackupCodes: {
            /** @description Each is good for one sign-in without the app. Shown once. */
            backup_codes: string[];
        };
        NewHostToken: {
            /** @description Unix time in seconds. */
            created_at: number;
            id: string;
            last_used_at: number | null;
            name: string;
            /** @constant */
            object: "host_token";
            revoked_at: number | null;
            /** @description The token itself, `tht_live_<reference>_<secret>`. Shown here and never again. */
            secret: string;
            /** @description How the token begins: enough to recognise it, and no secret. */
            start: string;
        };
        Node: {
            /** @description The agent's own name and version. */
            agent: string;
            /** @description Unix time in seconds. */
            created_at: number;
            /** @description As its agent described the machine. */
            hardware: {
                [key: string]: unknown;
            };
            id: string;
            /** @description The models it elected to serve. */
            models: string[];
            /** @description One of a kind among the host's nodes. */
            name: string;
            /** @constant */
            object: "node";
            /** @description Null once the node is trusted. */
            probation: components["schemas"]["Probation"] | null;
            quarantine: components["schemas"]["Quarantine"] | null;
            state: components["schemas"]["NodeState"];
            withheld: components["schemas"]["Withheld"] | null;
        };
        NodeDetail: {
            /** @description The agent's own name and version. */
            agent: string;
            /** @description Unix time in seconds. */
            created_at: number;
            /** @description As its agent described the machine. */
            hardware: {
                [key: string]: unknown;
            };
            id: string;
            /** @description The models it elected to serve. */
            models: string[];
            /** @description One of a kind among the host's nodes. */
            name: string;
            /** @constant */
            object: "node";
            /** @description Null once the node is trusted. */
            probation: components["schemas"]["Probation"] | null;
            quarantine: components["schemas"]["Quarantine"] | null;
            state: components["schemas"]["NodeState"];
            stats: components["schemas"]["NodeStats"];
            withheld: components["schemas"]["Withheld"] | null;
        };
        NodeList: {
            data: components["schemas"]["ListedNode"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        NodeModel: {
            /** @description What exactly has to be run. */
            build: string;
            /** @enum {string} */
            class: "tiny" | "small" | "mid" | "reasoning" | "embed" | "large";
            context_limit: number | null;
            /** @enum {string} */
            kind: "generation" | "embedding";
            model: string;
            /** @description Microdollars per million input tokens. */
            price_in_micro_1m: number | null;
            /** @description Microdollars per million output tokens. */
            price_out_micro_1m: number | null;
            tokenizer: string;
        };
        NodeModelList: {
            data: components["schemas"]["NodeModel"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        /** @description How many nodes are in each state; `online` are those that the gateway which answers is connected to. */
        NodesByState: {
            [key: string]: number;
        };
        /**
         * @description `registered`: no model elected. `ready`: elected, not connected. `online`: connected. `paused` by its host. `quarantined` by the platform; an operator releases it. `retired` for good.
         * @enum {string}
         */
        NodeState: "registered" | "ready" | "online" | "paused" | "quarantined" | "retired";
        NodeStats: {
            /** @description How many of them are taken. */
            busy: number;
            connected: boolean;
            /** @description It finishes what it has and takes nothing new. */
            draining: boolean;
            /** @description Each elected model's speed on this node, measured by the gateway. */
            models: {
                model: string;
                /** @description Median tokens per second; null before any were measured. */
                tps_p50: number | null;
                /** @description Median time to the first token; null before any was measured. */
                ttft_p50_ms: number | null;
            }[];
            node: string;
            /** @constant */
            object: "node_stats";
            probation: components["schemas"]["Probation"] | null;
            quarantine: components["schemas"]["Quarantine"] | null;
            /** @description As the gateway that answers has seen it since it started. */
            reliability: {
                /** @description How many of them the node failed. */
                failures: number;
                /** @description So many failures among them lead to quarantine. */
                failures_max: number;
                /** @description How many of the last jobs are counted. */
                jobs: number;
                /** @description How many jobs are looked at, at most. */
                jobs_window: number;
            };
            /** @description How many requests it takes at once; 0 when it is not connected. */
            slots: number;
            state: components["schemas"]["NodeState"];
            /** @description Since midnight UTC. */
            today: {
                completion_tokens: number;
                earned_micro: components["schemas"]["Money"];
                prompt_tokens: number;
                requests: number;
            };
            withheld: components["schemas"]["Withheld"] | null;
        };
        OpenAccountRequest: {
            /**
             * @description A builder calls models, a host serves them.
             * @enum {string}
             */
            kind: "builder" | "host";
            /** @description For people. */
            name: string;
        };
        OpenIdSignInRequest: {
            /** @description The id of one that is on offer. */
            provider: string;
        };
        OpenIdStart: {
            /** @description Where to send the browser. */
            url: string;
        };
        OperatorAction: {
            /** @description Such as `account.suspend`. */
            action: string;
            /** @description Unix time in seconds. */
            at: number;
            details: {
                [key: string]: unknown;
            };
            /** @constant */
            object: "operator_action";
            /** @description An e-mail address, or `command line`. */
            operator: string;
            /** @description `done`, the code of what refused it, or `failed`; null while it runs. */
            outcome: string | null;
            /** @description The id of whom or what it was done to. */
            subject: string;
        };
        OperatorActionList: {
            data: components["schemas"]["OperatorAction"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        Overview: {
            accounts: {
                builders: number;
                hosts: number;
                suspended: number;
            };
            capacity: components["schemas"]["ModelCapacity"][];
            /** @description Unix time in seconds. */
            from: number;
            /** @description Requests under way. */
            holds: number;
            money: {
                /** @description What builders own. */
                builder_credit_micro: components["schemas"]["Money"];
                /** @description What of it is held for requests under way. */
                held_micro: components["schemas"]["Money"];
                /** @description What hosts earned and were not paid. */
                hosts_owed_micro: components["schemas"]["Money"];
                /** @description What builders own and hosts are owed. */
                liabilities_micro: components["schemas"]["Money"];
                /** @description What the platform earned since the beginning. */
                platform_revenue_micro: components["schemas"]["Money"];
            };
            nodes: components["schemas"]["NodesByState"];
            /** @constant */
            object: "overview";
            /** @description Unix time in seconds. */
            to: number;
            /** @description By hour and outcome, within the span. */
            traffic: {
                charge_micro: components["schemas"]["Money"];
                completion_tokens: number;
                /** @description When the hour begins, Unix time in seconds. */
                hour: number;
                outcome: components["schemas"]["RequestOutcome"];
                prompt_tokens: number;
                requests: number;
            }[];
        };
        Pack: {
            /** @description What it credits. */
            credit_micro: components["schemas"]["Money"];
            /** @constant */
            currency: "usd";
            id: string;
            name: string;
            /** @constant */
            object: "pack";
            /** @description What it costs. */
            price_micro: components["schemas"]["Money"];
        };
        PackList: {
            data: components["schemas"]["Pack"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        PasswordChanged: {
            /** @constant */
            status: "password_changed";
        };
        PasswordRequest: {
            /** @description The present password. */
            password: string;
        };
        /** @description A batch: what hosts were owed when it was made, beyond what open batches promise and what is held back. One that only set debts off has nothing to send and is paid at once. */
        Payout: {
            /** @description Unix time in seconds. */
            created_at: number;
            created_by: string;
            /** @description What it left with hosts, because it is younger than the hold-back. */
            held_back_micro: components["schemas"]["Money"];
            /** @description How many hosts it pays. */
            hosts: number;
            id: string;
            note: string;
            /** @constant */
            object: "payout_batch";
            paid_at: number | null;
            paid_by: string | null;
            /** @description What it took from hosts for what builder accounts of their owners owed. */
            set_off_micro: components["schemas"]["Money"];
            /** @enum {string} */
            state: "open" | "paid";
            /** @description What it pays. */
            total_micro: components["schemas"]["Money"];
        };
        PayoutDetail: {
            /** @description Unix time in seconds. */
            created_at: number;
            created_by: string;
            /** @description What it left with hosts, because it is younger than the hold-back. */
            held_back_micro: components["schemas"]["Money"];
            /** @description How many hosts it pays. */
            hosts: number;
            id: string;
            lines: components["schemas"]["PayoutLine"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            note: string;
            /** @constant */
            object: "payout_batch";
            paid_at: number | null;
            paid_by: string | null;
            /** @description What it took from hosts for what builder accounts of their owners owed. */
            set_off_micro: components["schemas"]["Money"];
            /** @enum {string} */
            state: "open" | "paid";
            /** @description What it pays. */
            total_micro: components["schemas"]["Money"];
        };
        PayoutLine: {
            account: string;
            /** @description What is paid. Zero where all was held back or set off, or is less than the minimum. */
            amount_micro: components["schemas"]["Money"];
            held_back_micro: components["schemas"]["Money"];
            name: string;
            /** @description E-mail addresses, separated by spaces. */
            owners: string;
            payout: string;
            set_off_micro: components["schemas"]["Money"];
        };
        PayoutList: {
            data: components["schemas"]["Payout"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        /** @description An account as operators see it. */
        PlatformAccount: {
            /** @description A builder's credit, or what a host is owed. */
            balance_micro: components["schemas"]["Money"];
            /** @description Unix time in seconds. */
            created_at: number;
            held_micro: components["schemas"]["Money"];
            id: string;
            kind: components["schemas"]["AccountKind"];
            name: string;
            /** @constant */
            object: "account";
            /** @description E-mail addresses. */
            owners: string[];
            suspended_at: number | null;
        };
        PlatformAccountList: {
            data: components["schemas"]["PlatformAccount"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        /** @description A key as operators see it. */
        PlatformKey: {
            /** @description Unix time in seconds. */
            created_at: number;
            /** @description The platform's limits. */
            default_limits: {
                in_flight: number;
                requests_per_minute: number;
                tokens_per_minute: number;
            };
            id: string;
            last_used_at: number | null;
            /** @description What holds for this key: the platform's limits, or those that an operator set. */
            limits: {
                in_flight: number;
                requests_per_minute: number;
                tokens_per_minute: number;
            };
            /** @description Spend is attributed by it. */
            name: string;
            /** @constant */
            object: "api_key";
            /** @description What an operator set for this key; null where the platform's limit holds. */
            own_limits: {
                in_flight: number | null;
                requests_per_minute: number | null;
                tokens_per_minute: number | null;
            };
            revoked_at: number | null;
            /** @description Of the calendar month, in UTC. */
            spend_this_month: {
                charge_micro: components["schemas"]["Money"];
                requests: number;
            };
            /** @description How the key begins: enough to recognise it, and no secret. */
            start: string;
        };
        PlatformKeyList: {
            data: components["schemas"]["PlatformKey"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        PlatformNode: {
            /** @description The host's account. */
            account: string;
            /** @description Its name. */
            account_name: string;
            /** @description The agent's own name and version. */
            agent: string;
            /** @description Unix time in seconds. */
            created_at: number;
            /** @description As its agent described the machine. */
            hardware: {
                [key: string]: unknown;
            };
            id: string;
            /** @description The models it elected to serve. */
            models: string[];
            /** @description One of a kind among the host's nodes. */
            name: string;
            /** @constant */
            object: "node";
            /** @description Null once the node is trusted. */
            probation: components["schemas"]["Probation"] | null;
            quarantine: components["schemas"]["Quarantine"] | null;
            state: components["schemas"]["NodeState"];
            withheld: components["schemas"]["Withheld"] | null;
        };
        PlatformNodeDetail: {
            /** @description The host's account. */
            account: string;
            /** @description Its name. */
            account_name: string;
            /** @description The agent's own name and version. */
            agent: string;
            /** @description Unix time in seconds. */
            created_at: number;
            /** @description As its agent described the machine. */
            hardware: {
                [key: string]: unknown;
            };
            id: string;
            /** @description The models it elected to serve. */
            models: string[];
            /** @description One of a kind among the host's nodes. */
            name: string;
            /** @constant */
            object: "node";
            /** @description Null once the node is trusted. */
            probation: components["schemas"]["Probation"] | null;
            quarantine: components["schemas"]["Quarantine"] | null;
            state: components["schemas"]["NodeState"];
            stats: components["schemas"]["NodeStats"];
            withheld: components["schemas"]["Withheld"] | null;
        };
        PlatformNodeList: {
            data: components["schemas"]["ListedPlatformNode"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        /** @description A new node gets one request at a time. */
        Probation: {
            /** @description Requests that it answered well, since it was registered or since its last quarantine. */
            answers: number;
            /** @description So many end the probation. */
            needed: number;
        };
        /** @description Why the node gets no work. */
        Quarantine: {
            /** @description Unix time in seconds. */
            at: number;
            /** @description What was seen. Its fields depend on the reason. */
            evidence: {
                [key: string]: unknown;
            };
            reason: string;
        };
        Quote: {
            /** @description The largest it can cost: this much is held while it runs. */
            hold_micro: components["schemas"]["Money"];
            model: string;
            /** @constant */
            object: "quote";
            output_tokens_max: number;
            prompt_tokens: number;
        };
        QuoteRequest: {
            /** @description An alias of max_tokens; wins when both are set. */
            max_completion_tokens?: number;
            /** @description Caps the output and sizes the reservation. Default, and the most that counts: the model's context limit. */
            max_tokens?: number;
            messages: {
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
            }[];
            /** @description A model id of GET /v1/models. */
            model: string;
        };
        ReasonRequest: {
            /** @description Stands in the record of what operators did. */
            reason: string;
        };
        /** @description What a request was counted and charged, signed: it can be checked without asking the gateway. */
        Receipt: {
            build: string | null;
            charge_pico: string;
            completion_tokens: number;
            /** @description As ISO 8601 writes it, in UTC. */
            created_at: string;
            endpoint: string;
            finish_reason: ("stop" | "length") | null;
            finished_at: string;
            /** @description Picodollars, a whole number as a decimal string, like the two that follow. */
            hold_pico: string;
            host_share_pico: string;
            /** @description Which of /.well-known/tollgate-receipts signed it. */
            key_id: string;
            model: string | null;
            /** @constant */
            object: "usage.receipt";
            outcome: components["schemas"]["RequestOutcome"];
            price_version: number | null;
            prompt_tokens: number;
            reasoning_tokens: number;
            request_id: string;
            /** @description Ed25519 over every other field as canonical JSON; base64url. */
            signature: string;
            tokenizer: string | null;
            /** @constant */
            version: 1;
        };
        RenameAccountRequest: {
            name: string;
        };
        /** @description A request and what it cost. Prompts and outputs are never kept. */
        Request: {
            /** @description How many nodes it was given to. */
            attempts: number;
            build: string | null;
            /** @description Charged when it ended. */
            charge_micro: components["schemas"]["Money"];
            /** @description The family of its user agent; empty where there was none. */
            client: string;
            /** @description How many requests the record stands for: 1, but for refusals of a key beyond its first thousand of an hour. Those that agree in endpoint, model and outcome share a record, from `created_at` to `finished_at`. */
            count: number;
            /** @description Unix time in seconds. */
            created_at: number;
            duration_ms: number | null;
            /** @enum {string} */
            endpoint: "chat" | "completion" | "embedding" | "models";
            finish_reason: ("stop" | "length") | null;
            /** @description Unix time in seconds. */
            finished_at: number;
            /** @description Reserved before it began. */
            hold_micro: components["schemas"]["Money"];
            /** @description 499: the client went away. */
            http_status: number;
            /** @description Ends in the same 26 characters as the answer's id. */
            id: string;
            key: {
                id: string;
                /** @description The key's name when the request was made. */
                name: string;
            };
            /** @description null: refused before it was known. */
            model: string | null;
            /** @constant */
            object: "request";
            outcome: components["schemas"]["RequestOutcome"];
            price_version: number | null;
            /** @description Until a node took it. */
            queue_ms: number | null;
            /** @description What of the reservation came back. */
            refund_micro: components["schemas"]["Money"];
            /** @description null: refused before it was known. */
            stream: boolean | null;
            tokenizer: string | null;
            /** @description Until its first token. */
            ttft_ms: number | null;
            /** @description As the gateway counted. */
            usage: {
                /** @description Includes the reasoning tokens. */
                completion_tokens: number;
                prompt_tokens: number;
                reasoning_tokens: number;
            };
        };
        RequestList: {
            data: components["schemas"]["Request"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        /**
         * @description How the request ended. `ok`: finished; `upstream_failed`: the node reported a failure; `upstream_stall`: the node went quiet; `no_capacity`: no node in time; `client_closed`: the client went away; `gateway_lost`: the gateway died; nothing was charged; `rate_limit_requests`: refused with 429; `rate_limit_tokens`: refused with 429; `rate_limit_streams`: refused with 429; `rate_limit_sku_capacity`: refused with 429.
         * @enum {string}
         */
        RequestOutcome: "ok" | "upstream_failed" | "upstream_stall" | "no_capacity" | "client_closed" | "gateway_lost" | "rate_limit_requests" | "rate_limit_tokens" | "rate_limit_streams" | "rate_limit_sku_capacity";
        ResetPasswordRequest: {
            /** @description The new password. */
            password: string;
            /** @description Of the mailed link. */
            token: string;
        };
        Session: {
            address: string | null;
            /** @description Unix time in seconds. */
            created_at: number;
            /** @description Whether it is the one that asks. */
            current: boolean;
            /** @description Unix time in seconds. */
            expires_at: number;
            id: string;
            user_agent: string | null;
        };
        SessionList: {
            data: components["schemas"]["Session"][];
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
        };
        SessionsEnded: {
            /** @description How many were ended. */
            ended: number;
        };
        SignedOut: {
            /** @constant */
            status: "signed_out";
        };
        SignInCodeRequest: {
            /** @description Of the app, or a backup code. */
            code: string;
        };
        SignInMethods: {
            /** @description Whether a new e-mail address must be confirmed before its first sign-in. */
            email_verification: boolean;
            password: boolean;
            /** @description Whether a link to set a new password can be mailed. */
            password_reset: boolean;
            /** @description OpenID providers on offer. */
            providers: {
                id: string;
                name: string;
            }[];
        };
        SignInRequest: {
            /** Format: email */
            email: string;
            password: string;
            /** @description Whether the session outlives the browser. By default `true`. */
            remember_me?: boolean;
        };
        SignInStep: {
            /**
             * @description `two_factor_required`: the code of the second factor comes next. `verification_required`: the address has to be confirmed, by the link that was mailed to it.
             * @enum {string}
             */
            status: "signed_in" | "two_factor_required" | "verification_required";
        };
        SignUpRequest: {
            /** Format: email */
            email: string;
            name: string;
            /** @description The new password. */
            password: string;
            /** @description Whether the session outlives the browser. By default `true`. */
            remember_me?: boolean;
        };
        TwoFactorCodeRequest: {
            /** @description The six digits that the app shows. */
            code: string;
        };
        TwoFactorDisabled: {
            /** @constant */
            status: "disabled";
        };
        TwoFactorEnabled: {
            /** @constant */
            status: "enabled";
        };
        TwoFactorSetup: {
            /** @description Each is good for one sign-in without the app. Shown once. */
            backup_codes: string[];
            /** @description The same for typing into an app. */
            secret: string;
            /** @constant */
            status: "to_confirm";
            /** @description `otpauth://…`, for a QR code. */
            uri: string;
        };
        UsageList: {
            /** @enum {string} */
            by: "key" | "model" | "day" | "hour" | "outcome";
            data: components["schemas"]["UsageRow"][];
            /** @description Unix time in seconds. */
            from: number;
            /** @description Where the next page continues; null on the last one. */
            next_cursor: string | null;
            /** @constant */
            object: "list";
            /** @description Unix time in seconds. */
            to: number;
        };
        /** @description One sum. Of the first five fields it has the one that `by` names, and the one that `split` names. */
        UsageRow: {
            charge_micro: components["schemas"]["Money"];
            completion_tokens: number;
            /** @description In UTC, such as `2026-11-15`. */
            day?: string;
            /** @description When it begins, such as `2026-11-15T06:00:00Z`. */
            hour?: string;
            key?: string;
            /** @description Empty for requests that were refused before it was known. */
            model?: string;
            outcome?: components["schemas"]["RequestOutcome"];
            prompt_tokens: number;
            requests: number;
        };
        VerifyEmailRequest: {
            /** @description Of the mailed link. */
            token: string;
        };
        /**
         * @description Why a node in good standing gets no work. `host_quarantine`: it was registered while another node of its host was in quarantine; it works once that one is released, or an operator has looked.
         * @enum {string}
         */
        Withheld: "host_quarantine";
    };
    responses: {
        /**
         * @description Not there.
         *
         *     - `billing_disabled`: Credits cannot be bought on this deployment.
         */
        billing_disabled: {
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
         * @description Not allowed.
         *
         *     - `cross_site_blocked`: This request came from another site. Send it from the console itself.
         */
        cross_site_blocked: {
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
         * @description Not allowed.
         *
         *     - `cross_site_blocked`: This request came from another site. Send it from the console itself.
         *     - `account_suspended`: Your account is suspended.
         */
        "cross_site_blocked.account_suspended": {
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
         * @description Not allowed.
         *
         *     - `cross_site_blocked`: This request came from another site. Send it from the console itself.
         *     - `email_not_verified`: Confirm your e-mail address first, by the link that was sent to it.
         */
        "cross_site_blocked.email_not_verified": {
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
         * @description Not allowed.
         *
         *     - `cross_site_blocked`: This request came from another site. Send it from the console itself.
         *     - `no_account`: You are signed in, but you have no account yet.
         *     - `account_suspended`: Your account is suspended.
         *     - `host_only`: This needs a host account, and this sign-in has none.
         */
        "cross_site_blocked.no_account.account_suspended.host_only": {
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
         * @description Not allowed.
         *
         *     - `cross_site_blocked`: This request came from another site. Send it from the console itself.
         *     - `no_account`: You are signed in, but you have no account yet.
         *     - `account_suspended`: Your account is suspended.
         *     - `member_only`: This needs a builder account, and this sign-in has none.
         */
        "cross_site_blocked.no_account.account_suspended.member_only": {
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
         * @description Not allowed.
         *
         *     - `cross_site_blocked`: This request came from another site. Send it from the console itself.
         *     - `no_account`: You are signed in, but you have no account yet.
         *     - `account_suspended`: Your account is suspended.
         *     - `member_only`: This needs a builder account, and this sign-in has none.
         *     - `not_a_builder`: Only a builder account buys credits, and this is a host's.
         */
        "cross_site_blocked.no_account.account_suspended.member_only.not_a_builder": {
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
         * @description Not allowed.
         *
         *     - `cross_site_blocked`: This request came from another site. Send it from the console itself.
         *     - `operator_only`: This is for operators of the platform.
         */
        "cross_site_blocked.operator_only": {
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
         * @description A fault of ours. The message holds the request's id.
         *
         *     - `internal_error`: Something went wrong on our side.
         */
        internal_error: {
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
         * @description Not there.
         *
         *     - `model_not_found`: No such model for this endpoint. GET /v1/models lists what can be called.
         */
        model_not_found: {
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
         * @description Not allowed.
         *
         *     - `no_account`: You are signed in, but you have no account yet.
         *     - `account_suspended`: Your account is suspended.
         *     - `host_only`: This needs a host account, and this sign-in has none.
         */
        "no_account.account_suspended.host_only": {
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
         * @description Not allowed.
         *
         *     - `no_account`: You are signed in, but you have no account yet.
         *     - `account_suspended`: Your account is suspended.
         *     - `member_only`: This needs a builder account, and this sign-in has none.
         */
        "no_account.account_suspended.member_only": {
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
         * @description There is no room for it now. A body over 64 KiB may find that too many large ones are being read.
         *
         *     - `no_capacity`: No node could take this request in time. Nothing was billed; it is safe to try again.
         */
        no_capacity: {
            headers: {
                "retry-after": components["headers"]["retry-after"];
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description Not there.
         *
         *     - `node_not_found`: No such node.
         */
        node_not_found: {
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
         * @description The state of things does not allow it.
         *
         *     - `node_quarantined`: The node is quarantined. An operator has to release it first.
         *     - `node_state_conflict`: The node's state does not allow this.
         */
        "node_quarantined.node_state_conflict": {
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
         * @description The state of things does not allow it.
         *
         *     - `node_state_conflict`: The node's state does not allow this.
         */
        node_state_conflict: {
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
         * @description No valid credential.
         *
         *     - `not_authenticated`: Sign in first.
         */
        not_authenticated: {
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
         * @description Not there.
         *
         *     - `not_found`: No such request in your history.
         */
        not_found: {
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
         * @description The state of things does not allow it.
         *
         *     - `nothing_owed`: No host is owed as much, beyond what open payouts promise and what is held back.
         */
        nothing_owed: {
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
         * @description Not allowed.
         *
         *     - `operator_only`: This is for operators of the platform.
         */
        operator_only: {
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
         * @description Something that the gateway depends on failed.
         *
         *     - `payment_provider_unavailable`: The payment provider did not start a checkout. Nothing was charged.
         */
        payment_provider_unavailable: {
            headers: {
                "retry-after": components["headers"]["retry-after"];
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description The state of things does not allow it.
         *
         *     - `payout_exceeds_balance`: A host has less than this payout promises it. Nothing was booked, and the payout stays open.
         */
        payout_exceeds_balance: {
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
         * @description The body is too large.
         *
         *     - `request_too_large`: The request body exceeds 10 MiB.
         */
        request_too_large: {
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
         * @description Something that the gateway depends on failed.
         *
         *     - `sign_in_provider_unavailable`: The sign-in provider does not answer. Try again, or sign in another way.
         */
        sign_in_provider_unavailable: {
            headers: {
                "retry-after": components["headers"]["retry-after"];
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description Too often, or too many at once.
         *
         *     - `too_many_viewers`: Too many pages of this account are open.
         */
        too_many_viewers: {
            headers: {
                "retry-after": components["headers"]["retry-after"];
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description Something that was named does not exist.
         *
         *     - `unknown_model`: The filter names a model that is not in the catalogue.
         *     - `unknown_outcome`: The filter names an outcome that no request can have.
         */
        "unknown_model.unknown_outcome": {
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
         * @description Something that was named does not exist.
         *
         *     - `unknown_pack`: No such pack. GET /console/api/packs lists what is offered.
         */
        unknown_pack: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "x-should-retry": components["headers"]["x-should-retry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
        account: string;
    };
    requestBodies: never;
    headers: {
        /** @description The file's name. */
        "content-disposition": string;
        /** @description Where the browser goes on. */
        location: string;
        /** @description Whole seconds to wait before trying again. */
        "retry-after": number;
        /** @description The session, or the end of it. */
        "set-cookie": string;
        /** @description The request's id, on every response. */
        "x-request-id": string;
        /** @description On errors: whether a client should try again by itself. */
        "x-should-retry": "true" | "false";
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    openAccount: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OpenAccountRequest"];
            };
        };
        responses: {
            /** @description The account. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.account_suspended"];
            /**
             * @description The state of things does not allow it.
             *
             *     - `limit_reached`: You have 20 accounts, and may have no more.
             */
            409: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    renameAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The account's id, `acc_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RenameAccountRequest"];
            };
        };
        responses: {
            /** @description The account. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.account_suspended"];
            /**
             * @description Not there.
             *
             *     - `not_found`: No such account of yours.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    finishOpenId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The provider's id. */
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description On to the console. */
            302: {
                headers: {
                    location: components["headers"]["location"];
                    "set-cookie": components["headers"]["set-cookie"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    changePassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangePasswordRequest"];
            };
        };
        responses: {
            /** @description The new one is good. */
            200: {
                headers: {
                    "set-cookie": components["headers"]["set-cookie"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasswordChanged"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Who is signed in, if anybody is. */
            200: {
                headers: {
                    "set-cookie": components["headers"]["set-cookie"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CurrentSession"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    getSignInMethods: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What this platform offers. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInMethods"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    requestEmailVerification: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmailRequest"];
            };
        };
        responses: {
            /** @description It is on its way, if anybody has that address. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LetterSent"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            403: components["responses"]["cross_site_blocked"];
            /**
             * @description Not there.
             *
             *     - no code, type `not_found_error`
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    requestPasswordReset: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmailRequest"];
            };
        };
        responses: {
            /** @description It is on its way, if anybody has that address. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LetterSent"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            403: components["responses"]["cross_site_blocked"];
            /**
             * @description Not there.
             *
             *     - no code, type `not_found_error`
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    resetPassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResetPasswordRequest"];
            };
        };
        responses: {
            /** @description The new one is good. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasswordChanged"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            403: components["responses"]["cross_site_blocked"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    signInWithCode: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInCodeRequest"];
            };
        };
        responses: {
            /** @description They are in. */
            200: {
                headers: {
                    "set-cookie": components["headers"]["set-cookie"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInStep"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
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
             * @description No valid credential.
             *
             *     - `not_authenticated`: Sign in with your password again, then give the code.
             */
            401: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            403: components["responses"]["cross_site_blocked"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    signIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInRequest"];
            };
        };
        responses: {
            /** @description How far they came. The session is in the cookie alone. */
            200: {
                headers: {
                    "set-cookie": components["headers"]["set-cookie"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInStep"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
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
             * @description No valid credential.
             *
             *     - `not_authenticated`: The e-mail address or password is wrong.
             */
            401: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            403: components["responses"]["cross_site_blocked.email_not_verified"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    signInWithOpenId: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OpenIdSignInRequest"];
            };
        };
        responses: {
            /** @description Where to send the browser. */
            200: {
                headers: {
                    "set-cookie": components["headers"]["set-cookie"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenIdStart"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            403: components["responses"]["cross_site_blocked"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            502: components["responses"]["sign_in_provider_unavailable"];
        };
    };
    signOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Also where nobody was signed in. */
            200: {
                headers: {
                    "set-cookie": components["headers"]["set-cookie"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedOut"];
                };
            };
            403: components["responses"]["cross_site_blocked"];
            500: components["responses"]["internal_error"];
        };
    };
    signUp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignUpRequest"];
            };
        };
        responses: {
            /** @description How far they came. */
            200: {
                headers: {
                    "set-cookie": components["headers"]["set-cookie"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInStep"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            403: components["responses"]["cross_site_blocked"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    replaceBackupCodes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordRequest"];
            };
        };
        responses: {
            /** @description The codes, shown once. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewBackupCodes"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    confirmTwoFactor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TwoFactorCodeRequest"];
            };
        };
        responses: {
            /** @description From now on it is asked for. */
            200: {
                headers: {
                    "set-cookie": components["headers"]["set-cookie"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TwoFactorEnabled"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    disableTwoFactor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordRequest"];
            };
        };
        responses: {
            /** @description A password is enough again. Also where there was no second factor. */
            200: {
                headers: {
                    "set-cookie": components["headers"]["set-cookie"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TwoFactorDisabled"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    enableTwoFactor: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordRequest"];
            };
        };
        responses: {
            /** @description The secret, shown once. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TwoFactorSetup"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    verifyEmail: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VerifyEmailRequest"];
            };
        };
        responses: {
            /** @description It is confirmed. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EmailVerified"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            403: components["responses"]["cross_site_blocked"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
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
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: Too many attempts. Try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    getBalance: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The credit and what of it is held. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Balance"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.member_only"];
            500: components["responses"]["internal_error"];
        };
    };
    createCheckout: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckoutRequest"];
            };
        };
        responses: {
            /** @description Where to pay. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Checkout"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.no_account.account_suspended.member_only.not_a_builder"];
            404: components["responses"]["billing_disabled"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            422: components["responses"]["unknown_pack"];
            /**
             * @description Too often, or too many at once.
             *
             *     - `rate_limit_requests`: 10 checkouts of the last hour are open. Pay one of them, or try again in 60 seconds.
             */
            429: {
                headers: {
                    "retry-after": components["headers"]["retry-after"];
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            502: components["responses"]["payment_provider_unavailable"];
            503: components["responses"]["no_capacity"];
        };
    };
    listEarnings: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. Opaque, and good for this list only. */
                cursor?: string;
                /** @description Not before this moment: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. */
                from?: string;
                /** @description How many entries a page holds. */
                limit?: number;
                /** @description Only what this node earned, `node_…`. */
                node?: string;
                /** @description Before this moment, written like `from`. */
                to?: string;
            };
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of earnings. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EarningList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             *     - `invalid_cursor`: The cursor is not one that this list gave out.
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.host_only"];
            500: components["responses"]["internal_error"];
        };
    };
    exportEarnings: {
        parameters: {
            query?: {
                /** @description Not before this moment: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. */
                from?: string;
                /** @description Only what this node earned, `node_…`. */
                node?: string;
                /** @description Before this moment, written like `from`. */
                to?: string;
            };
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    "content-disposition": components["headers"]["content-disposition"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.host_only"];
            500: components["responses"]["internal_error"];
        };
    };
    getEarningReceipt: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path: {
                /** @description The request's id, `req_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The receipt. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.host_only"];
            404: components["responses"]["not_found"];
            500: components["responses"]["internal_error"];
        };
    };
    sumEarnings: {
        parameters: {
            query?: {
                /** @description What each sum is of. */
                by?: "day" | "hour" | "node" | "model";
                /** @description The sums' first hour: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. By default 30 days before `to`. */
                from?: string;
                /** @description Only what this node earned, `node_…`. */
                node?: string;
                /** @description What every sum is split by further. */
                split?: "node" | "model";
                /** @description Where they end, written like `from`. By default now. */
                to?: string;
            };
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sums, in the order of time. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EarningSumList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.host_only"];
            500: components["responses"]["internal_error"];
        };
    };
    listHostTokens: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. Opaque, and good for this list only. */
                cursor?: string;
                /** @description How many entries a page holds. */
                limit?: number;
            };
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tokens, without their secrets. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HostTokenList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             *     - `invalid_cursor`: The cursor is not one that this list gave out.
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.host_only"];
            500: components["responses"]["internal_error"];
        };
    };
    createHostToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NameRequest"];
            };
        };
        responses: {
            /** @description The token, with its secret: keep it now. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewHostToken"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.no_account.account_suspended.host_only"];
            /**
             * @description The state of things does not allow it.
             *
             *     - `limit_reached`: This account has 100 host tokens, and may have no more. Revoke one first.
             */
            409: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    revokeHostToken: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path: {
                /** @description The token's id, `hst_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The token. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HostToken"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.no_account.account_suspended.host_only"];
            /**
             * @description Not there.
             *
             *     - `not_found`: No such host token.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    listKeys: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. Opaque, and good for this list only. */
                cursor?: string;
                /** @description How many entries a page holds. */
                limit?: number;
            };
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys, without their secrets. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             *     - `invalid_cursor`: The cursor is not one that this list gave out.
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.member_only"];
            500: components["responses"]["internal_error"];
        };
    };
    createKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NameRequest"];
            };
        };
        responses: {
            /** @description The key, with its secret: keep it now. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewApiKey"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.no_account.account_suspended.member_only"];
            /**
             * @description The state of things does not allow it.
             *
             *     - `limit_reached`: This account has 500 API keys, and may have no more. Revoke one first.
             */
            409: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    revokeKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path: {
                /** @description The key's id, `key_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.no_account.account_suspended.member_only"];
            /**
             * @description Not there.
             *
             *     - `not_found`: No such key.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    renameKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path: {
                /** @description The key's id, `key_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NameRequest"];
            };
        };
        responses: {
            /** @description The key. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.no_account.account_suspended.member_only"];
            /**
             * @description Not there.
             *
             *     - `not_found`: No such key.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    listLedger: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. Opaque, and good for this list only. */
                cursor?: string;
                /** @description How many entries a page holds. */
                limit?: number;
            };
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the statement. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LedgerEntryList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             *     - `invalid_cursor`: The cursor is not one that this list gave out.
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.member_only"];
            500: components["responses"]["internal_error"];
        };
    };
    watchAccount: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of events named `balance` and `requests`. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.member_only"];
            429: components["responses"]["too_many_viewers"];
            500: components["responses"]["internal_error"];
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The identity and its accounts. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            401: components["responses"]["not_authenticated"];
            500: components["responses"]["internal_error"];
        };
    };
    listLiveModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The models. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LiveModelList"];
                };
            };
            401: components["responses"]["not_authenticated"];
            500: components["responses"]["internal_error"];
        };
    };
    listNodeModels: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every active model. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeModelList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.host_only"];
            500: components["responses"]["internal_error"];
        };
    };
    listNodes: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. Opaque, and good for this list only. */
                cursor?: string;
                /** @description How many entries a page holds. */
                limit?: number;
            };
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of nodes. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             *     - `invalid_cursor`: The cursor is not one that this list gave out.
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.host_only"];
            500: components["responses"]["internal_error"];
        };
    };
    getNode: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path: {
                /** @description The node's id, `node_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The node. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeDetail"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.host_only"];
            404: components["responses"]["node_not_found"];
            500: components["responses"]["internal_error"];
        };
    };
    electModels: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path: {
                /** @description The node's id, `node_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ElectModelsRequest"];
            };
        };
        responses: {
            /** @description The node. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.no_account.account_suspended.host_only"];
            404: components["responses"]["node_not_found"];
            409: components["responses"]["node_state_conflict"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    pauseNode: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path: {
                /** @description The node's id, `node_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The node. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.no_account.account_suspended.host_only"];
            404: components["responses"]["node_not_found"];
            409: components["responses"]["node_quarantined.node_state_conflict"];
            500: components["responses"]["internal_error"];
        };
    };
    resumeNode: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path: {
                /** @description The node's id, `node_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The node. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.no_account.account_suspended.host_only"];
            404: components["responses"]["node_not_found"];
            409: components["responses"]["node_quarantined.node_state_conflict"];
            500: components["responses"]["internal_error"];
        };
    };
    listAccounts: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. Opaque, and good for this list only. */
                cursor?: string;
                /** @description Only accounts of this kind. */
                kind?: "builder" | "host";
                /** @description How many entries a page holds. */
                limit?: number;
                /** @description A part of the account's name or of an owner's e-mail address. */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of accounts. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlatformAccountList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - `invalid_cursor`: The cursor is not one that this list gave out.
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["operator_only"];
            500: components["responses"]["internal_error"];
        };
    };
    getAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The account's id, `acc_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The account. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlatformAccount"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["operator_only"];
            /**
             * @description Not there.
             *
             *     - `not_found`: No such account.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    grantCredit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The account's id, `acc_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GrantRequest"];
            };
        };
        responses: {
            /** @description The account. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlatformAccount"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            /**
             * @description Not allowed.
             *
             *     - `cross_site_blocked`: This request came from another site. Send it from the console itself.
             *     - `operator_only`: This is for operators of the platform.
             *     - `not_a_builder`: Credit is granted to builder accounts only.
             */
            403: {
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
             * @description Not there.
             *
             *     - `not_found`: No such account.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    listAccountKeys: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. Opaque, and good for this list only. */
                cursor?: string;
                /** @description How many entries a page holds. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The account's id, `acc_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys, without their secrets. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlatformKeyList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - `invalid_cursor`: The cursor is not one that this list gave out.
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["operator_only"];
            /**
             * @description Not there.
             *
             *     - `not_found`: No such account.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    restoreAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The account's id, `acc_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReasonRequest"];
            };
        };
        responses: {
            /** @description The account. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlatformAccount"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.operator_only"];
            /**
             * @description Not there.
             *
             *     - `not_found`: No such account.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    suspendAccount: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The account's id, `acc_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReasonRequest"];
            };
        };
        responses: {
            /** @description The account. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlatformAccount"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.operator_only"];
            /**
             * @description Not there.
             *
             *     - `not_found`: No such account.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    listOperatorActions: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. Opaque, and good for this list only. */
                cursor?: string;
                /** @description How many entries a page holds. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the record. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OperatorActionList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - `invalid_cursor`: The cursor is not one that this list gave out.
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["operator_only"];
            500: components["responses"]["internal_error"];
        };
    };
    setKeyLimits: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key's id, `key_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyLimitsRequest"];
            };
        };
        responses: {
            /** @description What was set, and what holds now. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyLimits"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.operator_only"];
            /**
             * @description Not there.
             *
             *     - `not_found`: No such key, or it is revoked.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    checkBooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What was checked, and what differs. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BooksCheck"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["operator_only"];
            500: components["responses"]["internal_error"];
        };
    };
    watchPlatform: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of events named `load`. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["operator_only"];
            429: components["responses"]["too_many_viewers"];
            500: components["responses"]["internal_error"];
        };
    };
    listPlatformNodes: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. Opaque, and good for this list only. */
                cursor?: string;
                /** @description Only nodes of this host's account, `acc_…`. */
                host?: string;
                /** @description How many entries a page holds. */
                limit?: number;
                /** @description A part of the node's name. */
                q?: string;
                /** @description Only nodes in this state, as the gateway that answers sees it. */
                state?: "registered" | "ready" | "online" | "paused" | "quarantined" | "retired";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of nodes. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlatformNodeList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - `invalid_cursor`: The cursor is not one that this list gave out.
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["operator_only"];
            500: components["responses"]["internal_error"];
        };
    };
    getPlatformNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The node's id, `node_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The node. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlatformNodeDetail"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["operator_only"];
            404: components["responses"]["node_not_found"];
            500: components["responses"]["internal_error"];
        };
    };
    clearNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The node's id, `node_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The node. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlatformNode"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.operator_only"];
            404: components["responses"]["node_not_found"];
            /**
             * @description The state of things does not allow it.
             *
             *     - `node_state_conflict`: Nothing of its host keeps this node from work.
             */
            409: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    quarantineNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The node's id, `node_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReasonRequest"];
            };
        };
        responses: {
            /** @description The node. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlatformNode"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.operator_only"];
            404: components["responses"]["node_not_found"];
            409: components["responses"]["node_state_conflict"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    releaseNode: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The node's id, `node_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The node. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlatformNode"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.operator_only"];
            404: components["responses"]["node_not_found"];
            409: components["responses"]["node_state_conflict"];
            500: components["responses"]["internal_error"];
        };
    };
    getOverview: {
        parameters: {
            query?: {
                /** @description The traffic's first hour: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. By default a day before `to`, at most 31. */
                from?: string;
                /** @description Where it ends, written like `from`. By default now. */
                to?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Money, accounts, nodes, capacity and traffic. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["operator_only"];
            500: components["responses"]["internal_error"];
        };
    };
    listPayouts: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. Opaque, and good for this list only. */
                cursor?: string;
                /** @description How many entries a page holds. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of batches. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PayoutList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - `invalid_cursor`: The cursor is not one that this list gave out.
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["operator_only"];
            500: components["responses"]["internal_error"];
        };
    };
    createPayout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreatePayoutRequest"];
            };
        };
        responses: {
            /** @description The batch. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payout"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.operator_only"];
            409: components["responses"]["nothing_owed"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    getPayout: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. Opaque, and good for this list only. */
                cursor?: string;
                /** @description How many entries a page holds. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The batch's id, `pay_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The batch and its lines. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PayoutDetail"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - `invalid_cursor`: The cursor is not one that this list gave out.
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["operator_only"];
            /**
             * @description Not there.
             *
             *     - `not_found`: No such payout batch.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    exportPayout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The batch's id, `pay_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    "content-disposition": components["headers"]["content-disposition"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["operator_only"];
            /**
             * @description Not there.
             *
             *     - `not_found`: No such payout batch.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    markPayoutPaid: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The batch's id, `pay_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The batch. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payout"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.operator_only"];
            /**
             * @description Not there.
             *
             *     - `not_found`: No such payout batch.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            409: components["responses"]["payout_exceeds_balance"];
            500: components["responses"]["internal_error"];
        };
    };
    listPacks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The packs. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PackList"];
                };
            };
            401: components["responses"]["not_authenticated"];
            404: components["responses"]["billing_disabled"];
            500: components["responses"]["internal_error"];
        };
    };
    quoteChat: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QuoteRequest"];
            };
        };
        responses: {
            /** @description The quote. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Quote"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked.no_account.account_suspended.member_only"];
            404: components["responses"]["model_not_found"];
            413: components["responses"]["request_too_large"];
            /**
             * @description The body is compressed.
             *
             *     - no code, type `invalid_request_error`
             */
            415: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
            503: components["responses"]["no_capacity"];
        };
    };
    listRequests: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. Opaque, and good for this list only. */
                cursor?: string;
                /** @description Not before this moment: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. */
                from?: string;
                /** @description Only requests with this key, `key_…`. */
                key?: string;
                /** @description How many entries a page holds. */
                limit?: number;
                /** @description Only requests for this model. */
                model?: string;
                /** @description Only requests that ended like this, such as `ok`; 422 `unknown_outcome` for one that there is not. */
                outcome?: string;
                /** @description Before this moment, written like `from`. */
                to?: string;
            };
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the history. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             *     - `invalid_cursor`: The cursor is not one that this list gave out.
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.member_only"];
            422: components["responses"]["unknown_model.unknown_outcome"];
            500: components["responses"]["internal_error"];
        };
    };
    exportRequests: {
        parameters: {
            query?: {
                /** @description Not before this moment: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. */
                from?: string;
                /** @description Only requests with this key, `key_…`. */
                key?: string;
                /** @description Only requests for this model. */
                model?: string;
                /** @description Only requests that ended like this, such as `ok`; 422 `unknown_outcome` for one that there is not. */
                outcome?: string;
                /** @description Before this moment, written like `from`. */
                to?: string;
            };
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    "content-disposition": components["headers"]["content-disposition"];
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/csv": string;
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.member_only"];
            422: components["responses"]["unknown_model.unknown_outcome"];
            500: components["responses"]["internal_error"];
        };
    };
    getRequest: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path: {
                /** @description The request's id, `req_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The request. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Request"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.member_only"];
            404: components["responses"]["not_found"];
            500: components["responses"]["internal_error"];
        };
    };
    getReceipt: {
        parameters: {
            query?: never;
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path: {
                /** @description The request's id, `req_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The receipt. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.member_only"];
            404: components["responses"]["not_found"];
            500: components["responses"]["internal_error"];
        };
    };
    listSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sessions. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionList"];
                };
            };
            401: components["responses"]["not_authenticated"];
            500: components["responses"]["internal_error"];
        };
    };
    endOtherSessions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All but this one are over. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsEnded"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked"];
            500: components["responses"]["internal_error"];
        };
    };
    endSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id, `ses_…`. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is over. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsEnded"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["cross_site_blocked"];
            /**
             * @description Not there.
             *
             *     - `not_found`: No such session of yours.
             */
            404: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["internal_error"];
        };
    };
    getUsage: {
        parameters: {
            query?: {
                /** @description What each sum is of. */
                by?: "key" | "model" | "day" | "hour" | "outcome";
                /** @description The sums' first hour: `2026-11-15`, `2026-11-15T06:30:00Z` or Unix seconds. By default the first of the month that `to` lies in. */
                from?: string;
                /** @description What every sum is split by further. */
                split?: "key" | "model";
                /** @description Where they end, written like `from`. By default now. */
                to?: string;
            };
            header?: {
                /** @description The account to act for, `acc_…`. Needed by those who own several of the kind; the others act for the one they have. */
                "x-tollgate-account"?: components["parameters"]["account"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sums, in the order of what they are of. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageList"];
                };
            };
            /**
             * @description Something that was sent is wrong. The message names it and its rule.
             *
             *     - no code, type `invalid_request_error`
             */
            400: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "x-should-retry": components["headers"]["x-should-retry"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["not_authenticated"];
            403: components["responses"]["no_account.account_suspended.member_only"];
            500: components["responses"]["internal_error"];
        };
    };
}
