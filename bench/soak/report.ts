export async function report(): Promise<void> {}
