/** What a process of the pipeline does, with its connections. */
export interface Service<Result> {
  /** Resolves when it does its work. */
  start(): Promise<void>;
  /** Rejects when it cannot work until somebody changes its settings. */
  readonly failed: Promise<never>;
  /** Ends its work with grace. */
  stop(): Promise<Result>;
  /** Closes what is still open; after a failure that is all. */
  close(): void;
}

/** Runs a service until `signal` aborts, and stops it then. Rejects when the service cannot work. */
export async function serve<Result>(service: Service<Result>, signal: AbortSignal): Promise<Result> {
  const stopped = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => stopped.resolve(), { once: true });
  if (signal.aborted) stopped.resolve();
  try {
    await Promise.race([service.start(), service.failed, stopped.promise]);
    await Promise.race([service.failed, stopped.promise]);
    return await service.stop();
  } finally {
    service.close();
  }
}
