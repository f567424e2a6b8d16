/** Buildah, as the images are built and run with it. */
import { execa } from 'execa';
import { isInstalled, packagesFor } from '../setup/packages.mjs';
import { step as told } from '../setup/steps.mjs';

const SHOWN_LINES = 20;

/** Needs no container runtime and no cgroups of its own: works wherever root does. What is set already stays. */
export const ISOLATION = process.env.BUILDAH_ISOLATION || 'chroot';

/** Does one step and prints its line. */
export const step = (name: string, work: () => Promise<unknown>): Promise<void> => told(name, work, 'images');

/** Rejects in one line where a program is missing or we are not root. */
export function requirePrograms(
  programs: readonly string[],
  has = isInstalled,
  uid = process.getuid?.(),
): void {
  const missing = programs.filter((program) => !has(program));
  if (missing.length > 0)
    throw new Error(
      `${missing.join(' and ')} missing. Type, on Debian: sudo apt-get install --no-install-recommends ${packagesFor(missing, 'debian').join(' ')}`,
    );
  if (uid !== 0) throw new Error('images are built by root: sudo npm run images');
}

/** Runs a program; rejects with the last lines of what it said. */
export async function command(
  program: string,
  args: readonly string[],
  stop?: AbortSignal,
  env: Record<string, string> = {},
): Promise<string> {
  const { all, stdout, failed, shortMessage } = await execa(program, args, {
    env: { BUILDAH_ISOLATION: ISOLATION, ...env },
    all: true,
    reject: false,
    ...(stop && { cancelSignal: stop }),
  });
  if (stop?.aborted) throw new Error('interrupted');
  if (!failed) return stdout;
  const tail = all.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n');
  throw new Error(`${tail}\n${shortMessage?.split('\n')[0]?.slice(0, 200)}`);
}

/** What an image says of itself, as Docker has it. */
export interface ImageConfig {
  User: string;
  Entrypoint: string[];
  Cmd: string[];
  Healthcheck?: { Test: string[] };
}

export async function configOf(image: string): Promise<ImageConfig> {
  const told = JSON.parse(await command('buildah', ['inspect', '--type', 'image', image]));
  return told.Docker.config;
}
