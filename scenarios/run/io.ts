/** The terminal of a command: where it prints, and the signals that end it. A test has one of its own. */
import { pathToFileURL } from 'node:url';
import { execa } from 'execa';
import { exitAfter } from '../../pipeline/stack/explain.ts';
import { shortPath } from '../../pipeline/stack/file.ts';
import { INTERRUPTED, onInterrupt } from '../../pipeline/stack/interrupt.ts';

export interface IO {
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  /** Calls `stop` at the first signal to end. The next one calls `kill`, and then nothing more of the command runs. */
  onInterrupt(stop: (signal: NodeJS.Signals) => void, kill: () => void): void;
}

/**
 * A command. It rejects with an error of one line when it is refused.
 * @param argv the arguments behind its name
 * @param env its environment, to which it adds the settings of its arguments
 * @returns the exit code
 */
export type Main = (argv: readonly string[], env: NodeJS.ProcessEnv, io: IO) => Promise<number>;

/** Prints a line. */
export function print({ stdout }: Pick<IO, 'stdout'>, line: string): void {
  stdout.write(`${line}\n`);
}

/** A path as the terminal shows it: one to click, and elsewhere one that programs read. */
export function linkTo(path: string, { stdout }: Pick<IO, 'stdout'>): string {
  return stdout.isTTY ? pathToFileURL(path).href : shortPath(path);
}

/** Opens a page as the desktop does; a line says where there is none. */
export async function openPage(path: string, env: NodeJS.ProcessEnv, io: Pick<IO, 'stderr'>): Promise<void> {
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const { failed } = await execa(opener, [path], { env, extendEnv: false, reject: false, stdio: 'ignore' });
  if (failed) warn(io, `--open: ${opener} cannot open ${pathToFileURL(path).href}`);
}

/** Prints a line on stderr. */
export function warn({ stderr }: Pick<IO, 'stderr'>, line: string): void {
  stderr.write(`${line}\n`);
}

/** Runs a command as this process, which ends with its exit code. */
export function runProcess(main: Main): void {
  const io: IO = {
    stdout: process.stdout,
    stderr: process.stderr,
    onInterrupt: (stop, kill) =>
      onInterrupt(stop, () => {
        kill();
        process.exit(INTERRUPTED);
      }),
  };
  exitAfter(main(process.argv.slice(2), process.env, io));
}
