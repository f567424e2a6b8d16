/** Stand-ins for the base images of the Dockerfiles, where no registry can be reached: what bases.Dockerfile is made of. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { command, ISOLATION, step } from './buildah.ts';

const ROOT = join(import.meta.dirname, '../..');
const NODE = join(ROOT, 'node_modules/node/bin');

/** The base images by the argument of the Dockerfiles that names each, and what stands in for it. */
export const BASES = { GO: 'golang', NODE: 'node', BUSYBOX: 'busybox' } as const;
export const standIn = (base: string) => `localhost/arrival-base-${base}`;

/** Go and Node have to be those of the Dockerfiles (golang:1.26-bookworm, node:24-bookworm-slim). */
export const VERSIONS = { suite: 'bookworm', go: '1.26', node: '24' };
const NPM = 'npm@11.19.1';

/** What Node needs beside what every Debian has, and what its images have: authorities, and a shell for k6-operator. */
const PACKAGES = ['ca-certificates', 'libstdc++6', 'busybox-static'];

/** Of the servers that compose.yaml has from others: what Debian has of them, and what their health checks call. */
export const SERVERS = { redis: 'redis', mosquitto: 'eclipse-mosquitto', nginx: 'nginx' } as const;
const SERVER_PACKAGES = ['redis-server', 'mosquitto', 'nginx', 'netcat-openbsd'];

/** Makes all of them, those of the servers where told; `removeBases` removes them. */
export async function makeBases(stop: AbortSignal, servers = false): Promise<void> {
  const run = (program: string, ...args: string[]) => command(program, args, stop);
  const goroot = (await run('go', 'env', 'GOROOT')).trim();
  checkVersion('Go', VERSIONS.go, (await run('go', 'env', 'GOVERSION')).replace('go', ''));
  checkVersion('Node', VERSIONS.node, (await run(join(NODE, 'node'), '--version')).replace('v', ''));
  const dir = await mkdtemp(join(tmpdir(), 'arrival-bases-'));
  const npm = join(dir, 'npm');
  try {
    const debian = async (name: string, packages: readonly string[]) => {
      const what = ['--variant=minbase', `--include=${packages.join(',')}`, VERSIONS.suite];
      await run('mmdebstrap', ...what, join(dir, name), ...(await sources(run)));
    };
    await step('Debian from its packages', () => debian('debian.tar', PACKAGES));
    if (servers) await step('Debian with the servers', () => debian('servers.tar', SERVER_PACKAGES));
    await step(NPM, () => run('npm', 'install', '--global', '--ignore-scripts', '--prefix', npm, NPM));
    const contexts = Object.entries({ go: goroot, 'node-program': NODE, npm });
    for (const base of standIns(servers))
      await step(`stand-in for ${base}`, () =>
        run(
          'buildah',
          // In layers: Debian is the same in all.
          ...['build', '--isolation', ISOLATION, '--layers', '--tag', standIn(base), '--target', base],
          ...contexts.flatMap(([name, path]) => ['--build-context', `${name}=${path}`]),
          ...['--file', join(import.meta.dirname, 'bases.Dockerfile'), dir],
        ),
      );
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** One after the other, and not all at once: of those that are there none stays for one that is not. */
export async function removeBases(): Promise<void> {
  for (const base of standIns(true))
    await command('buildah', ['rmi', '--force', standIn(base)]).catch(() => {});
}

/** What of bases.Dockerfile is built. */
const standIns = (servers: boolean): string[] => [
  ...Object.values(BASES),
  ...(servers ? Object.keys(SERVERS) : []),
];

function checkVersion(what: string, wanted: string, is: string): void {
  if (!`${is.trim()}.`.startsWith(`${wanted}.`))
    throw new Error(`the Dockerfiles want ${what} ${wanted}, and this machine has ${is.trim()}`);
}

/** Where this machine gets Debian's packages from; none, and so mmdebstrap's own mirror, where it is another Debian. */
async function sources(run: (program: string, ...args: string[]) => Promise<string>): Promise<string[]> {
  const format = 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)';
  const lines = await run(
    'apt-get',
    'indextargets',
    '--format',
    format,
    'Created-By: Packages',
    'Origin: Debian',
  );
  const all = lines.split('\n').filter((line) => line !== '');
  return all.some((line) => line.split(' ')[2] === VERSIONS.suite) ? all : [];
}
