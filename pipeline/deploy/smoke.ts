/** A smoke run through the images: k6, ingest and relay out of them, Redis and Mosquitto of this host. */
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { within } from '../health.ts';
import { BROKER_USERS, REDIS_USERS, SUBSCRIBER_STATUS, secret, secrets, urls } from '../stack/access.ts';
import type { Launch } from '../stack/launch.ts';
import { freePort } from '../stack/ports.ts';
import { Supervised } from '../stack/process.ts';
import { HOST, INGEST_FLAGS, prepareMosquitto, prepareRedis } from '../stack/services.ts';
import { arrivals, failureOf } from './account.ts';
import { command, configOf, ISOLATION, step } from './buildah.ts';

/** Where containers find the files, as in compose.yaml. */
const HOME = '/run/arrival';
const READY_MS = 30_000;
/** As compose.yaml has it. */
const STOP_MS = 20_000;

export async function smoke(stop: AbortSignal): Promise<void> {
  const run = new SmokeRun();
  const part = (name: string, work: () => Promise<void>) =>
    step(name, () => (stop.aborted ? Promise.reject(new Error('interrupted')) : work()));
  try {
    await part('prepare.ts in its image', () => run.prepare());
    await part('ingest and relay in theirs', () => run.start());
    await part('k6 with a shell, for k6-operator', () => run.operator());
    await part('k6 run scenarios/smoke.js in its image', () => run.measure(stop));
    await part('SIGTERM ends ingest and relay', () => run.stop());
  } finally {
    await run.end();
  }
}

class SmokeRun {
  #dir = '';
  readonly #processes: Supervised[] = [];
  readonly #containers: string[] = [];

  async #container(image: string): Promise<string> {
    const name = (await command('buildah', ['from', '--pull=false', '--isolation', ISOLATION, image])).trim();
    this.#containers.push(name);
    return name;
  }

  /** A folder that containers read or write as the user of the images. */
  async #folder(name: string, user: string): Promise<string> {
    const path = join(this.#dir, name);
    await mkdir(path, { recursive: true, mode: 0o700 });
    await chown(path, ...numbers(user));
    return path;
  }

  async prepare(): Promise<void> {
    this.#dir = await mkdtemp(join(tmpdir(), 'arrival-images-'));
    // Containers' users get through to their own folders.
    await chmod(this.#dir, 0o711);
    const { User, Entrypoint } = await configOf('arrival-pipeline');
    const prepared = await this.#folder('prepared', User);
    const container = await this.#container('arrival-pipeline');
    const said = await command('buildah', [
      ...inside(container, [`${prepared}:${HOME}`]),
      ...[...Entrypoint, 'pipeline/deploy/prepare.ts', HOME, 'compose'],
    ]);
    if (!said.includes('is prepared for compose')) throw new Error(`prepare.ts said: ${said}`);
  }

  async start(): Promise<void> {
    const [redisPort, brokerPort, ingestPort] = [await freePort(), await freePort(), await freePort()];
    const [redisPasswords, brokerPasswords] = [secrets(REDIS_USERS), secrets(BROKER_USERS)];
    const redis = urls(redisPasswords, `redis://${HOST}:${redisPort}/0`);
    const broker = urls(brokerPasswords, `mqtt://${HOST}:${brokerPort}`);
    const token = secret();
    await this.#run(await prepareRedis(this.#dir, redisPort, redisPasswords), /Ready to accept connections/);
    await this.#run(await prepareMosquitto(this.#dir, brokerPort, brokerPasswords), / running$/);

    const { User, Entrypoint, Healthcheck } = await configOf('arrival-pipeline');
    const home = await this.#folder('home', User);
    const stack = {
      ingest: { url: `http://${HOST}:${ingestPort}`, token },
      redis: { url: redis.reader },
      mqtt: {
        url: `mqtt://${HOST}:${brokerPort}`,
        username: 'subscriber',
        password: brokerPasswords.subscriber,
        status: SUBSCRIBER_STATUS,
      },
      oneHost: true,
      facts: { topology: 'single' },
    };
    const files = {
      'ingest.tokens': token,
      'ingest.env': `REDIS_URL=${redis.ingest}\nINGEST_TOKENS_FILE=${HOME}/ingest.tokens`,
      'relay.env': `REDIS_URL=${redis.relay}\nMQTT_URL=${broker.relay}`,
      'stack.json': JSON.stringify(stack),
    };
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(home, name), `${text}\n`, { mode: 0o600 });
      await chown(join(home, name), ...numbers(User));
    }
    for (const [name, ...args] of [
      ['ingest', ...INGEST_FLAGS, `--env-file=${HOME}/ingest.env`, 'pipeline/ingest/server.ts'],
      ['relay', `--env-file=${HOME}/relay.env`, 'pipeline/relay/main.ts'],
    ] as const) {
      const container = await this.#container('arrival-pipeline');
      const health = await freePort();
      const env = {
        PROCESS_NAME: `${name}-1`,
        INGEST_HOST: HOST,
        INGEST_PORT: String(ingestPort),
        HEALTH_HOST: HOST,
        HEALTH_PORT: String(health),
      };
      const entered = inside(container, [`${home}:${HOME}:ro`], env);
      await this.#run(
        { name: `${name}-1`, command: 'buildah', args: [...entered, ...Entrypoint, ...args] },
        /listening at|relaying as/,
      );
      for (const path of ['livez', 'readyz']) {
        const { status } = await fetch(`http://${HOST}:${health}/${path}`);
        if (status !== 200) throw new Error(`/${path} of the ${name} answered ${status}`);
      }
      // As the engine would: CMD and the words.
      const [, ...check] = Healthcheck?.Test ?? [];
      await command('buildah', [...entered, ...check]);
    }
  }

  /** It looks for the script with `sh`, and for k6 in PATH. */
  async operator(): Promise<void> {
    const container = await this.#container('arrival-k6-operator');
    const said = await command('buildah', [
      ...inside(container, []),
      ...['sh', '-c', 'test -f /arrival/scenarios/ramp.js && k6 version'],
    ]);
    for (const extension of ['k6/x/arrival', 'k6/x/mqtt'])
      if (!said.includes(extension)) throw new Error(`k6 has no ${extension}: ${said}`);
  }

  async measure(stop: AbortSignal): Promise<void> {
    const { User, Entrypoint } = await configOf('arrival-k6');
    const runs = await this.#folder('runs', User);
    const container = await this.#container('arrival-k6');
    const volumes = [`${join(this.#dir, 'home')}:${HOME}:ro`, `${runs}:/arrival/reports/runs`];
    const entered = inside(container, volumes, { STACK_DIR: HOME, NETWORK: 'container' });
    const k6 = command('buildah', [...entered, ...Entrypoint, 'run', '-q', 'scenarios/smoke.js'], stop);
    const told = await arrivals(runs, await failureOf(k6));
    process.stdout.write(`${told} … `);
  }

  async stop(): Promise<void> {
    for (const { name, pid, ended } of this.#processes.filter(({ name }) => /^(ingest|relay)/.test(name))) {
      // To Node itself: buildah would kill it, and not hand on the signal.
      process.kill(await lastOf(pid), 'SIGTERM');
      const how = await within(STOP_MS, ended);
      if (how !== 'exited with code 0') throw new Error(`${name} ${how ?? 'goes on'} after SIGTERM`);
    }
  }

  async end(): Promise<void> {
    for (const process of this.#processes.reverse()) await process.stop();
    // One that can not be removed keeps neither the others nor the directory, which has tokens in it.
    const failures: Error[] = [];
    for (const name of this.#containers)
      await command('buildah', ['rm', name]).catch((error: Error) => failures.push(error));
    if (this.#dir) await rm(this.#dir, { recursive: true, force: true });
    if (failures[0] !== undefined) throw failures[0];
  }

  async #run(launch: Launch, readyLine: RegExp): Promise<void> {
    const process = await Supervised.start(launch, { logs: this.#dir });
    this.#processes.push(process);
    await process.says(readyLine, READY_MS);
  }
}

/** Arguments of buildah that run something in a container, up to what that is. */
function inside(container: string, volumes: readonly string[], env: Record<string, string> = {}): string[] {
  return [
    ...['run', '--isolation', ISOLATION],
    ...volumes.flatMap((volume) => ['--volume', volume]),
    ...Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...[container, '--'],
  ];
}

/** The process at the end of a chain of parents and only children. */
async function lastOf(pid: number): Promise<number> {
  const tasks = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8')),
  );
  const [child] = lists.join(' ').match(/\d+/g) ?? [];
  return child === undefined ? pid : lastOf(Number(child));
}

/** `uid:gid`, as the images name their user. */
function numbers(user: string): [number, number] {
  const [uid = Number.NaN, gid = uid] = user.split(':').map(Number);
  return [uid, gid];
}
