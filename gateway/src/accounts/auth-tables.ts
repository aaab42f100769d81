/** Our tables by the names that better-auth knows: its models, their columns. The tables are in gateway/sql/migrations. */

export const USER_TABLE = {
  modelName: "identity",
  fields: { emailVerified: "email_verified", createdAt: "created_at", updatedAt: "updated_at" },
};

export const SESSION_TABLE = {
  modelName: "identity_session",
  fields: {
    userId: "identity_id",
    ipAddress: "ip_address",
    userAgent: "user_agent",
    expiresAt: "expires_at",
    createdAt: "created_at",
    updatedAt: "updated_at",
  },
};

export const ACCOUNT_TABLE = {
  modelName: "identity_credential",
  fields: {
    userId: "identity_id",
    providerId: "provider",
    accountId: "subject",
    password: "password_hash",
    accessToken: "access_token",
    refreshToken: "refresh_token",
    idToken: "id_token",
    accessTokenExpiresAt: "access_token_expires_at",
    refreshTokenExpiresAt: "refresh_token_expires_at",
    createdAt: "created_at",
    updatedAt: "updated_at",
  },
};

export const VERIFICATION_TABLE = {
  modelName: "identity_verification",
  fields: { expiresAt: "expires_at", createdAt: "created_at", updatedAt: "updated_at" },
};

export const TWO_FACTOR_TABLES = {
  user: { fields: { twoFactorEnabled: "two_factor_enabled" } },
  twoFactor: {
    modelName: "identity_two_factor",
    fields: {
      userId: "identity_id",
      backupCodes: "backup_codes",
      failedVerificationCount: "failed_verification_count",
      lockedUntil: "locked_until",
    },
  },
};
