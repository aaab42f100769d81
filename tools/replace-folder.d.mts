export function replaceFolder(folder: string, fresh: string): void;
