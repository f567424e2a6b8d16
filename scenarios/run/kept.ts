import type { Readable } from 'node:stream';
import { Child } from '../../pipeline/stack/child.ts';

/** A process whose output is kept: what it writes to files 1, 2 and 3. */
export class Kept extends Child {
  readonly texts: [stdout: string, stderr: string, third: string] = ['', '', ''];

  constructor(command: readonly string[], env: NodeJS.ProcessEnv, cwd?: string) {
    super(command, { env, stdio: ['ignore', 'pipe', 'pipe', 'pipe'], ...(cwd !== undefined && { cwd }) });
    this.child.stdio.slice(1).forEach((stream, i) => {
      (stream as Readable | null)?.setEncoding('utf8').on('data', (part: string) => {
        this.texts[i] += part;
      });
    });
  }

  /** A signal reaches its children too. */
  override signal(signal: NodeJS.Signals): void {
    try {
      if (signal === 'SIGKILL') super.signal(signal);
      else process.kill(-this.pid, signal);
    } catch {
      // It has ended.
    }
  }

  /** The first line of its output, or all of it if it ends before. */
  async line(): Promise<string> {
    const read = new Promise<void>((resolve) => {
      this.child.stdout?.on('data', () => this.texts[0].includes('\n') && resolve());
    });
    await Promise.race([read, this.ended]);
    return this.texts[0].split('\n')[0] ?? '';
  }

  get pid(): number {
    return this.child.pid as number;
  }
}
