/** `npm run images`: the images of this repository, built with buildah, and tried. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isEntry } from '../entry.ts';
import { explain } from '../stack/explain.ts';
import { writePrivateFile } from '../stack/file.ts';
import { onInterrupt } from '../stack/interrupt.ts';
import { BASES, makeBases, removeBases, standIn } from './bases.ts';
import { command, ISOLATION, requirePrograms, step } from './buildah.ts';
import { compose } from './compose.ts';
import { ENGINE_PROGRAMS } from './engine.ts';
import { smoke } from './smoke.ts';

const ROOT = join(import.meta.dirname, '../..');

/** `ignore` is named, as older versions of buildah look for a .dockerignore in the context alone. */
export const IMAGES = [
  {
    name: 'arrival-pipeline',
    file: 'pipeline/pipeline.Dockerfile',
    ignore: 'pipeline/pipeline.Dockerfile.dockerignore',
  },
  { name: 'arrival-k6', file: 'k6.Dockerfile', ignore: '.dockerignore', target: 'plain' },
  { name: 'arrival-k6-operator', file: 'k6.Dockerfile', ignore: '.dockerignore', target: 'operator' },
];

export const HELP = `Builds the images of this repository with buildah (Linux, as root): ${IMAGES.map(({ name }) => name).join(', ')}.

  npm run images                        from the base images that the Dockerfiles name
  npm run images -- --from-packages     where no registry can be reached: from stand-ins for them, made of Debian's packages, the
                                        project's Node and this machine's Go, and removed in the end
  npm run images -- --smoke             and then a smoke run through them: k6, ingest and relay out of the images, Redis and
                                        Mosquitto of this host
  npm run images -- --from-packages --compose
                                        and then compose.yaml with a smoke run, in a Docker engine of its own that is gone in the
                                        end; Redis, Mosquitto and nginx are Debian's too

They stay where buildah keeps images: podman run arrival-k6, or buildah push arrival-k6 docker-daemon:arrival-k6:latest.
Modules and npm packages come from where this machine gets them: GOPROXY, npm's registry, http_proxy, and the authorities of
SSL_CERT_FILE; nothing of that stays in an image. BUILDAH_ISOLATION (${ISOLATION}) and STORAGE_DRIVER are buildah's own.`;

interface Options {
  fromPackages: boolean;
  smoke: boolean;
  compose: boolean;
}

/** Throws in one line: the flag, and where the allowed ones are. */
export function readOptions(args: readonly string[]): Options | 'help' {
  const flag = { type: 'boolean' } as const;
  const options = { 'from-packages': flag, smoke: flag, compose: flag, help: { ...flag, short: 'h' } };
  const { values } = parsed(() => parseArgs({ args: [...args], options }));
  if (values.help) return 'help';
  const { 'from-packages': fromPackages = false, smoke = false, compose = false } = values;
  if (compose && !fromPackages)
    throw new Error(
      '--compose goes with --from-packages: where a registry can be reached, docker compose does it (pipeline/deploy/README.md)',
    );
  return { fromPackages, smoke, compose };
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Error(`${(error as Error).message.split(/\.? To |\n/)[0]}; --help tells what is allowed`);
  }
}

/** What a build with these options needs to be installed. */
export const programsOf = ({ fromPackages, compose }: Options): string[] => [
  'buildah',
  ...(fromPackages ? ['mmdebstrap'] : []),
  ...(compose ? ENGINE_PROGRAMS : []),
];

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    console.log(HELP);
    return 0;
  }
  requirePrograms(programsOf(options));
  const stop = new AbortController();
  onInterrupt(
    () => stop.abort(),
    () => process.exit(1),
  );
  const dir = await mkdtemp(join(tmpdir(), 'arrival-images-'));
  try {
    if (options.fromPackages) await makeBases(stop.signal, options.compose);
    const settings = await settingsOf(dir);
    for (const image of IMAGES) await step(image.name, () => build(image, settings, options, stop.signal));
    if (options.smoke) await smoke(stop.signal);
    if (options.compose) await compose(stop.signal);
  } finally {
    await rm(dir, { recursive: true, force: true });
    if (options.fromPackages) await removeBases();
  }
  console.log(await command('buildah', ['images', '--filter', 'reference=localhost/arrival-*']));
  return 0;
}

const SYSTEM_AUTHORITIES = [
  process.env.SSL_CERT_FILE,
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
];

/** What this machine knows of mirrors, as arguments of a build. */
async function settingsOf(dir: string): Promise<string[]> {
  const npm = async (key: string) => (await command('npm', ['config', 'get', key])).trim();
  const own = await readFile(await npm('userconfig'), 'utf8').catch(() => '');
  const npmrc = join(dir, 'npmrc');
  const inside = '/etc/ssl/certs/authorities.crt';
  await writePrivateFile(npmrc, `${own}\nregistry=${await npm('registry')}\ncafile=${inside}\n`);
  const authorities = SYSTEM_AUTHORITIES.find((file) => file && existsSync(file));
  if (authorities === undefined)
    throw new Error('SSL_CERT_FILE is not set, and this machine has no authorities');
  const proxy = (await command('go', ['env', 'GOPROXY'])).trim();
  return [
    ...['--secret', `id=npmrc,src=${npmrc}`, '--secret', `id=authorities,src=${authorities}`],
    ...['--build-arg', `GOPROXY=${proxy}`],
  ];
}

async function build(
  { name, file, ignore, target }: (typeof IMAGES)[number],
  settings: readonly string[],
  { fromPackages }: Options,
  stop: AbortSignal,
): Promise<void> {
  const bases = Object.entries(BASES).flatMap(([arg, base]) => ['--build-arg', `${arg}=${standIn(base)}`]);
  const args = [
    ...['build', '--isolation', ISOLATION, '--tag', name],
    // The other format has no place for a health check.
    ...['--format', 'docker'],
    ...['--file', join(ROOT, file), '--ignorefile', join(ROOT, ignore)],
    ...(target === undefined ? [] : ['--target', target]),
    ...settings,
    ...(fromPackages ? ['--pull=false', ...bases] : []),
  ];
  await command('buildah', [...args, ROOT], stop);
}

if (isEntry(import.meta)) {
  main().then(
    (code) => process.exit(code),
    (error: Error) => {
      explain(error);
      process.exit(1);
    },
  );
}
