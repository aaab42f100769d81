/** How somebody signs in, and where they are signed in. */
import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, ask } from "../api/client.ts";
import { queryClient } from "./query-client.ts";
import { meQuery } from "./session.ts";

export const sessionsQuery = queryOptions({
  queryKey: ["sessions"],
  queryFn: () => ask(api.GET("/console/api/sessions")),
});

const readSessions = (): Promise<void> => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
const readMe = (): Promise<void> => queryClient.invalidateQueries({ queryKey: meQuery.queryKey });

export const useEndSession = () =>
  useMutation({
    mutationFn: (id: string) => ask(api.DELETE("/console/api/sessions/{id}", { params: { path: { id } } })),
    onSettled: readSessions,
  });

export const useEndOtherSessions = () =>
  useMutation({ mutationFn: () => ask(api.DELETE("/console/api/sessions")), onSettled: readSessions });

export const useChangePassword = () =>
  useMutation({
    mutationFn: (body: { password: string; new_password: string }) =>
      ask(api.POST("/console/api/auth/change-password", { body })),
    onSuccess: readSessions,
  });

export const useBeginTwoFactor = () =>
  useMutation({
    mutationFn: (password: string) => ask(api.POST("/console/api/auth/two-factor/enable", { body: { password } })),
  });

export const useConfirmTwoFactor = () =>
  useMutation({
    mutationFn: (code: string) => ask(api.POST("/console/api/auth/two-factor/confirm", { body: { code } })),
    onSuccess: readMe,
  });

export const useNewBackupCodes = () =>
  useMutation({
    mutationFn: (password: string) =>
      ask(api.POST("/console/api/auth/two-factor/backup-codes", { body: { password } })),
  });

export const useEndTwoFactor = () =>
  useMutation({
    mutationFn: (password: string) => ask(api.POST("/console/api/auth/two-factor/disable", { body: { password } })),
    onSuccess: readMe,
  });

export const useRenameAccount = () =>
  useMutation({
    mutationFn: ({ id, name }: { id: string; name: string }) =>
      ask(api.PATCH("/console/api/accounts/{id}", { params: { path: { id } }, body: { name } })),
    onSuccess: readMe,
  });
