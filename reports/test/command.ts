/** Commands of this folder in this process. */
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Command } from '../command.ts';

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command to its end. */
export async function ran(command: Command, ...argv: string[]): Promise<Ran> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const printed = Promise.all([text(stdout), text(stderr)]);
  const code = await command(argv, {}, { stdout, stderr });
  stdout.end();
  stderr.end();
  const [out, err] = await printed;
  return { code, stdout: out, stderr: err };
}
