import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { ConfigError } from '../../shared/config.ts';

const SOURCE = join(import.meta.dirname, 'clock.c');

/** The wall clock of a process, which can step while the process runs (Linux). */
export class WallClock {
  readonly #dir: string;

  private constructor(dir: string) {
    this.#dir = dir;
    writeFileSync(join(dir, 'clock'), Buffer.alloc(8));
  }

  /** Compiles the library that moves the clock. */
  static async make(): Promise<WallClock> {
    const dir = await mkdtemp(join(tmpdir(), 'arrival-clock-'));
    const { failed, shortMessage } = await execa(
      'cc',
      ['-shared', '-fPIC', '-O2', '-o', join(dir, 'clock.so'), SOURCE],
      {
        reject: false,
      },
    );
    if (!failed) return new WallClock(dir);
    await rm(dir, { recursive: true });
    throw new ConfigError(`a C compiler (cc) is needed to move the clock of Redis: ${shortMessage}`);
  }

  /** The environment of the process that gets this clock. */
  get environment(): Record<string, string> {
    return { LD_PRELOAD: join(this.#dir, 'clock.so'), CLOCK_FILE: join(this.#dir, 'clock') };
  }

  /** Sets the clock so many seconds ahead of the machine's. */
  set(seconds: number): void {
    const ahead = Buffer.from(BigInt64Array.of(BigInt(seconds)).buffer);
    // The process has mapped the file: it has to stay the same one.
    writeFileSync(join(this.#dir, 'clock'), ahead, { flag: 'r+' });
  }

  async remove(): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true });
  }
}
