/**
 * Builds and runs our images with buildah. Their base images are stand-ins, made of this machine's Node, Go, npm and shell, so no
 * image registry is needed.
 */
import { globSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { isInstalled } from '../setup/packages.mjs';

const ROOT = join(import.meta.dirname, '../..');
const NPM = 'npm@11.19.1';
const NODE_BASE = 'localhost/arrival-base-node';
const GO_BASE = 'localhost/arrival-base-go';
/** Programs that the Dockerfiles' instructions and npm call. */
const PROGRAMS = ['sh', 'chown', 'cp', 'mkdir', 'rm'].map((name) => `/bin/${name}`).concat('/usr/bin/env');
const AUTHORITIES = process.env.SSL_CERT_FILE ?? '/etc/ssl/certs/ca-certificates.crt';

/** Why there are no images on this machine; false: there are. */
export const withoutImages =
  process.platform !== 'linux'
    ? 'buildah runs on Linux'
    : !isInstalled('buildah')
      ? 'buildah is not installed: sudo apt-get install buildah'
      : process.getuid?.() !== 0 && 'buildah without a container runtime needs root';

/** A store of images and caches in a directory of the test's own: this machine's images stay unchanged, and none is added. */
export class Images {
  readonly #dir: string;
  /** The flags of buildah that name the store. */
  readonly store: string[];
  readonly env: Record<string, string>;

  constructor(dir: string) {
    this.#dir = dir;
    this.store = ['--root', join(dir, 'store'), '--runroot', join(dir, 'run')];
    this.env = { TMPDIR: dir, BUILDAH_ISOLATION: 'chroot', BUILDAH_FORMAT: 'docker' };
  }

  async buildah(args: readonly string[]): Promise<string> {
    const { stdout } = await execa('buildah', [...this.store, ...args], { env: this.env });
    return stdout;
  }

  /** Builds an image. What `npm` and `go` ask a mirror, they ask that of this machine. */
  async build(image: string, dockerfile: string, ...flags: string[]): Promise<void> {
    const own = `${dockerfile}.dockerignore`;
    const ignore = await readFile(join(ROOT, own)).then(
      () => own,
      () => '.dockerignore',
    );
    await this.buildah([
      ...['build', '--tag', image, '--pull=false', '--build-arg', `NODE=${NODE_BASE}`, ...flags],
      // buildah before 1.30 looks for .dockerignore only in the context.
      ...['--file', join(ROOT, dockerfile), '--ignorefile', join(ROOT, ignore)],
      ...['--secret', `id=npmrc,src=${await this.#npmrc()}`],
      ...['--secret', `id=authorities,src=${AUTHORITIES}`],
      ROOT,
    ]);
  }

  /** The arguments of a build that compiles, with this machine's Go and the caches that it fills. */
  async makeGo(): Promise<string[]> {
    const { stdout } = await execa('go', ['env', 'GOROOT', 'GOMODCACHE', 'GOCACHE', 'GOPROXY']);
    const [root = '', modules = '', cache = '', proxy = ''] = stdout.split('\n');
    const lines = [
      `FROM ${NODE_BASE}`,
      `ENV PATH=/usr/local/go/bin:/usr/bin:/bin GOTOOLCHAIN=local GOMODCACHE=/caches/modules GOCACHE=/caches/build`,
    ];
    await this.#make(GO_BASE, join(this.#dir, 'base'), lines);
    return [
      ...[
        '--build-arg',
        `GO=${GO_BASE}`,
        '--build-arg',
        `BUSYBOX=${NODE_BASE}`,
        '--build-arg',
        `GOPROXY=${proxy}`,
      ],
      ...['--volume', `${root}:/usr/local/go:ro`, '--volume', `${modules}:/caches/modules`],
      ...['--volume', `${cache}:/caches/build`],
    ];
  }

  /** Makes the stand-in for node:24-bookworm-slim: programs of this machine and their libraries. */
  async makeNode(): Promise<void> {
    const base = join(this.#dir, 'base');
    await execa('npm', ['install', '--global', '--ignore-scripts', '--prefix', join(base, 'usr/local'), NPM]);
    const node = join(ROOT, 'node_modules/node/bin/node');
    await execa('cp', [node, join(base, 'usr/local/bin')]);
    // A native package of the build wants more of the C library.
    const native = globSync('node_modules/@rolldown/*/*.node', { cwd: ROOT });
    const { stdout } = await execa('ldd', [...PROGRAMS, node, ...native], { cwd: ROOT });
    const libraries = new Set(stdout.match(/(?<=\s)\/\S+(?= \()/g));
    await execa('cp', ['--parents', '--dereference', ...PROGRAMS, ...libraries, base]);
    // npm looks for its settings in root's home, which /etc/passwd names.
    await mkdir(join(base, 'etc/ssl/certs'), { recursive: true });
    await writeFile(join(base, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
    await execa('cp', ['--dereference', AUTHORITIES, join(base, 'etc/ssl/certs/ca-certificates.crt')]);
    await execa('mkdir', ['--mode', '1777', join(base, 'tmp')]);
    await this.#make(NODE_BASE, base, ['FROM scratch', 'COPY . /']);
  }

  async #make(image: string, context: string, lines: readonly string[]): Promise<void> {
    const file = join(this.#dir, 'Dockerfile');
    await writeFile(file, `${lines.join('\n')}\n`);
    await this.buildah(['build', '--tag', image, '--pull=false', '--file', file, context]);
  }

  /** Makes a container. @returns its name */
  async container(image: string): Promise<string> {
    return this.buildah(['from', '--pull=false', image]);
  }

  /** What an image says of itself. */
  async config(image: string) {
    const { Docker } = JSON.parse(await this.buildah(['inspect', '--type', 'image', image]));
    return Docker.config as {
      User: string;
      Entrypoint: string[];
      Healthcheck: { Test: string[] };
      StopSignal: string;
    };
  }

  /** Writes the package registry of this machine, for the build only. */
  async #npmrc(): Promise<string> {
    const file = join(this.#dir, 'npmrc');
    const config = async (key: string) => (await execa('npm', ['config', 'get', key])).stdout;
    const own = await readFile(await config('userconfig'), 'utf8').catch(() => '');
    const lines = [own, `registry=${await config('registry')}`, 'cafile=/etc/ssl/certs/authorities.crt', ''];
    await writeFile(file, lines.join('\n'), { mode: 0o600 });
    return file;
  }
}

/** The process that `pid`, a chain in which each parent has one child, ends with; the first one that `is` accepts. */
export async function lastOf(pid: number, is: (command: string) => boolean = () => false): Promise<number> {
  const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
  if (is(command)) return pid;
  const tasks = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8')),
  );
  const [child] = lists.join(' ').match(/\d+/g) ?? [];
  return child === undefined ? pid : lastOf(Number(child), is);
}
