/** Queries and changes for an account's notifications: the inbox, the channels and the deliveries. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import type { NotificationChange } from "../api/answer-types.ts";
import { callConsoleApiForAccount } from "../api/api-client.ts";
import { paginatedQuery } from "./pagination.ts";
import { queryClient } from "./query-client.ts";

const PAGE = 20;
const COUNT_EVERY_MS = 60_000;
/** A short interval, because a person who sent a test notification waits for its result. */
const LOG_EVERY_MS = 5_000;

export const notificationInboxQuery = (accountId: string) =>
  paginatedQuery(["notifications", accountId], (cursor) =>
    callConsoleApiForAccount(accountId, "GET /console/api/notifications/inbox", { query: { cursor, limit: PAGE } }),
  );

/** The number of unread notifications, for the bell icon. */
export const unreadCountQuery = (accountId: string) =>
  queryOptions({
    queryKey: ["unread", accountId],
    refetchInterval: COUNT_EVERY_MS,
    queryFn: () => callConsoleApiForAccount(accountId, "GET /console/api/notifications/inbox", { query: { limit: 1 } }),
  });

export const notificationSettingsQuery = (accountId: string) =>
  queryOptions({
    queryKey: ["notification settings", accountId],
    queryFn: () => callConsoleApiForAccount(accountId, "GET /console/api/notifications"),
  });

export const deliveriesQuery = (accountId: string) =>
  queryOptions({
    queryKey: ["deliveries", accountId],
    refetchInterval: LOG_EVERY_MS,
    queryFn: () => callConsoleApiForAccount(accountId, "GET /console/api/notifications/deliveries"),
  });

export const useMarkNotificationsRead = (accountId: string) =>
  useMutation({
    mutationFn: (ids?: string[]) =>
      callConsoleApiForAccount(accountId, "POST /console/api/notifications/read", {
        body: ids === undefined ? {} : { ids },
      }),
    onSuccess: async () => {
      const keys = [notificationInboxQuery(accountId).queryKey, unreadCountQuery(accountId).queryKey];
      await Promise.all(keys.map((queryKey) => queryClient.invalidateQueries({ queryKey })));
    },
  });

export const useSetNotifications = (accountId: string) =>
  useMutation({
    mutationFn: (body: NotificationChange) =>
      callConsoleApiForAccount(accountId, "PUT /console/api/notifications", { body }),
    onSuccess: (settings) =>
      void queryClient.setQueryData(notificationSettingsQuery(accountId).queryKey, {
        ...settings,
        webhook_secret: null,
      }),
  });

export const useReplaceWebhookSecret = (accountId: string) =>
  useMutation({ mutationFn: () => callConsoleApiForAccount(accountId, "POST /console/api/notifications/secret") });

export const useSendTestNotification = (accountId: string) =>
  useMutation({
    mutationFn: (channel: "email" | "webhook" | "slack") =>
      callConsoleApiForAccount(accountId, "POST /console/api/notifications/test", { body: { channel } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: deliveriesQuery(accountId).queryKey }),
  });
