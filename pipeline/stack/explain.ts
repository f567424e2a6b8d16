import { readable } from '../common/log.ts';
import { outliveReaders } from '../shared/entry.ts';
import { printableLines } from '../shared/printable.ts';
import { ProcessFailure } from './process.ts';

/** Prints why a command stops. */
export function explain(error: Error): void {
  console.error(process.env.DEBUG ? error : explained(error));
}

/** Why a command stops, for a terminal: a process's last lines under its name, then one line. */
export function explained(error: Error): string {
  const lines = error instanceof ProcessFailure ? error.lastLines : [];
  const named = lines.map((line) => `${(error as ProcessFailure).process} | ${readable(line)}`);
  return [...named, printableLines(error.message)].join('\n');
}

/** Ends this process with the exit code of a command; after an error with 1 and the reason on the terminal. */
export function exitAfter(command: Promise<number>): void {
  outliveReaders();
  command.then(
    (code) => process.exit(code),
    (error: Error) => {
      explain(error);
      process.exit(1);
    },
  );
}
