/** Where a command prints; a terminal has columns. */
export type Output = NodeJS.WritableStream & Partial<Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>>;

/** What a command of this folder is given beside its arguments: in a process its own streams, in a test others. */
export interface Io {
  stdout: Output;
  stderr: Output;
  /** Ends a command that goes on until it is ended. */
  stop?: AbortSignal;
}

/** A command: it prints, and returns the exit code of its process. */
export type Command = (argv: readonly string[], env: NodeJS.ProcessEnv, io: Io) => Promise<number>;
