/** A Docker engine of its own: it meets nothing that this machine has of containers, and leaves nothing there. */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Supervised } from '../stack/process.ts';
import { command } from './buildah.ts';

/** What it is made of. */
export const ENGINE_PROGRAMS = ['dockerd', 'docker', 'containerd', 'runc', 'iptables', 'ip', 'unshare'];

/** Built here, from where Go's modules come from: Debian 12 has none that knows what compose.yaml says. */
export const COMPOSE = { module: 'github.com/docker/compose/v2', version: 'v2.40.3' };
const PROGRAM = join(import.meta.dirname, `../../.stack/docker-compose-${COMPOSE.version}`);

const READY_MS = 60_000;
const STOP_MS = 60_000;

export class Engine {
  readonly #dir: string;
  readonly #dockerd: Supervised;
  readonly #env: Record<string, string>;

  /**
   * In namespaces of its own: it leaves the rules of this machine's firewall alone, publishes ports to nobody and has
   * no way out, and what it mounts goes with it.
   */
  static async start(dir: string): Promise<Engine> {
    const host = `unix://${join(dir, 'docker.sock')}`;
    const settings = {
      hosts: [host],
      'data-root': join(dir, 'data'),
      'exec-root': join(dir, 'exec'),
      pidfile: join(dir, 'dockerd.pid'),
    };
    const file = join(dir, 'daemon.json');
    await writeFile(file, JSON.stringify(settings));
    // It would take the containerd that it finds there, with what that has from another engine.
    const alone = 'mkdir -p /run/containerd && mount -t tmpfs none /run/containerd';
    const inside = `ip link set lo up && ${alone} && exec dockerd --config-file "$0"`;
    // Processes too: containers outlive an engine, and nothing outlives the first process of a namespace.
    const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const args = [...namespaces, '--', 'sh', '-c', inside, file];
    const dockerd = await Supervised.start({ name: 'dockerd', command: 'unshare', args }, { logs: dir });
    try {
      await dockerd.says(/API listen on/, READY_MS);
    } catch (error) {
      await dockerd.stop(0);
      throw error;
    }
    return new Engine(dir, dockerd, host);
  }

  private constructor(dir: string, dockerd: Supervised, host: string) {
    this.#dir = dir;
    this.#dockerd = dockerd;
    this.#env = { DOCKER_HOST: host };
  }

  docker(args: readonly string[], stop?: AbortSignal): Promise<string> {
    return command('docker', args, stop, this.#env);
  }

  compose(args: readonly string[], env: Record<string, string>, stop: AbortSignal): Promise<string> {
    return command(PROGRAM, args, stop, { ...this.#env, ...env });
  }

  /** Gives it an image of buildah's, under another name. */
  async load(image: string, name: string, stop: AbortSignal): Promise<void> {
    const file = join(this.#dir, 'image.tar');
    // Names without a tag would have none.
    const tagged = name.includes(':') ? name : `${name}:latest`;
    await command('buildah', ['push', image, `docker-archive:${file}:${tagged}`], stop);
    await this.docker(['load', '--input', file], stop);
    await rm(file);
  }

  async stop(): Promise<void> {
    // To the group: unshare hands no signal on.
    if (this.#dockerd.alive) process.kill(-this.#dockerd.pid, 'SIGTERM');
    await this.#dockerd.stop(STOP_MS);
  }
}

/** Once: the first time takes minutes. */
export async function buildCompose(stop: AbortSignal): Promise<void> {
  if (existsSync(PROGRAM)) return;
  const { module, version } = COMPOSE;
  const told = await command('go', ['mod', 'download', '-json', `${module}@${version}`], stop);
  const { Dir } = JSON.parse(told) as { Dir: string };
  await mkdir(dirname(PROGRAM), { recursive: true, mode: 0o700 });
  const made = `${PROGRAM}.new`;
  const flags = [
    '-buildvcs=false',
    '-trimpath',
    '-ldflags',
    `-s -w -X ${module}/internal.Version=${version}`,
  ];
  // In its own folder, as `go install` takes no module that excludes versions of others.
  await command('go', ['build', '-C', Dir, ...flags, '-o', made, './cmd'], stop);
  await rename(made, PROGRAM);
}
