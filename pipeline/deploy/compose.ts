/** compose.yaml with a smoke run through it, in a Docker engine of its own. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { arrivals, failureOf } from './account.ts';
import { SERVERS, standIn } from './bases.ts';
import { step } from './buildah.ts';
import { buildCompose, Engine } from './engine.ts';

const FILE = join(import.meta.dirname, 'compose.yaml');

/** What is typed, as README.md has it. */
export const COMMANDS = {
  up: ['up', '--exit-code-from', 'k6', 'k6'],
  copy: ['cp', 'k6:/arrival/reports/runs'],
  down: ['down', '--volumes'],
};

/** Large files, which are not to be in memory. */
const LARGE = '/var/tmp';

export async function compose(stop: AbortSignal): Promise<void> {
  const run = new ComposeRun(await mkdtemp(join(LARGE, 'arrival-compose-')), stop);
  const part = (name: string, work: () => Promise<void>) =>
    step(name, () => (stop.aborted ? Promise.reject(new Error('interrupted')) : work()));
  try {
    await part('Docker Compose', () => buildCompose(stop));
    await part('a Docker engine, and the images into it', () => run.start());
    await part('docker compose up, with smoke.js', () => run.measure());
    await part('docker compose stop', () => run.stop());
    await part('docker compose down --volumes', () => run.down());
  } finally {
    await run.end();
  }
}

/** Images that a Compose file names, and what they are among buildah's. */
export function imagesOf(text: string): Map<string, string> {
  const named = new Set([...text.matchAll(/^ +image: (\S+)$/gm)].map(([, image = '']) => image));
  return new Map(
    [...named].map((image) => {
      const server = Object.entries(SERVERS).find(([, name]) => image.startsWith(`${name}:`))?.[0];
      return [image, server === undefined ? `localhost/${image}` : standIn(server)];
    }),
  );
}

/** As Compose tells it. */
interface Container {
  Service: string;
  State: string;
  Health: string;
  ExitCode: number;
}

class ComposeRun {
  readonly #dir: string;
  readonly #stop: AbortSignal;
  #engine: Engine | undefined;

  constructor(dir: string, stop: AbortSignal) {
    this.#dir = dir;
    this.#stop = stop;
  }

  async start(): Promise<void> {
    this.#engine = await Engine.start(this.#dir);
    for (const [name, image] of imagesOf(await readFile(FILE, 'utf8')))
      await this.#engine.load(image, name, this.#stop);
  }

  async measure(): Promise<void> {
    const failure = await failureOf(this.#compose(COMMANDS.up, { SCENARIO: 'smoke.js' }));
    if (this.#stop.aborted) throw failure;
    // Those that compose.yaml has no health check for are there, and nothing else is known of them.
    const wrong = await this.#unlike(({ Service, State, Health, ExitCode }) =>
      ['prepare', 'k6'].includes(Service)
        ? State === 'exited' && (ExitCode === 0 || Service === 'k6')
        : State === 'running' && ['healthy', ''].includes(Health),
    );
    if (wrong !== '') throw new Error(wrong, { cause: failure });
    const runs = join(this.#dir, 'runs');
    await this.#compose([...COMMANDS.copy, runs]);
    process.stdout.write(`${await arrivals(runs, failure)} … `);
  }

  /** Each one ends by itself when it is asked to. */
  async stop(): Promise<void> {
    await this.#compose(['stop']);
    const wrong = await this.#unlike(
      ({ Service, State, ExitCode }) => State === 'exited' && (ExitCode === 0 || Service === 'k6'),
    );
    if (wrong !== '') throw new Error(wrong);
  }

  async down(): Promise<void> {
    await this.#compose(COMMANDS.down);
    const left = await this.#engine?.docker(['volume', 'ls', '--quiet']);
    if (left?.trim()) throw new Error(`volumes are left: ${left}`);
  }

  /** With everything that is in it, however far it got. */
  async end(): Promise<void> {
    await this.#engine?.stop();
    await rm(this.#dir, { recursive: true, force: true });
  }

  async #compose(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
    return (await this.#engine?.compose(['--file', FILE, ...args], env, this.#stop)) ?? '';
  }

  /** The containers that are not as they should be, with their last lines. */
  async #unlike(right: (container: Container) => boolean): Promise<string> {
    const lines = (await this.#compose(['ps', '--all', '--format', 'json'])).trim().split('\n');
    const wrong = lines.map((line) => JSON.parse(line) as Container).filter((one) => !right(one));
    const told = wrong.map(async ({ Service, State, Health, ExitCode }) => {
      const last = await this.#compose(['logs', '--no-log-prefix', '--tail', '5', Service]);
      return `${last.trimEnd()}\n${Service} is ${[State, Health].filter(Boolean).join(', ')}, code ${ExitCode}`;
    });
    return (await Promise.all(told)).join('\n');
  }
}
