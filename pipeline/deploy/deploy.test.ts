import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import type { TObject } from '@sinclair/typebox';
import { execa } from 'execa';
import repository from '../../package.json' with { type: 'json' };
import { LEAVE } from '../ingest/http.ts';
import { IngestConfig, RelayConfig, readConfig } from '../shared/config.ts';
import { BROKER_USERS, REDIS_USERS, secrets } from '../stack/access.ts';
import { DAEMON_PATH } from '../stack/launch.ts';
import { nginxConfig } from '../stack/nginx.ts';
import { prepareMosquitto, prepareRedis } from '../stack/services.ts';
import { CHECK, type Manifest, manifests, understood } from '../test/manifests.ts';
import { remove, temporaryDirectory } from '../test/services.ts';
import { files, hashed } from './prepare.ts';
import { writeTrial } from './trial.ts';

const ROOT = join(import.meta.dirname, '../..');
const PREPARE = join(import.meta.dirname, 'prepare.ts');

let dir: string;
let kubernetes: string;

before(async () => {
  dir = await temporaryDirectory();
  kubernetes = join(dir, 'kubernetes');
  const own = (path: string) => !path.includes('generated');
  await cp(join(import.meta.dirname, 'kubernetes'), kubernetes, { recursive: true, filter: own });
  await promisify(execFile)(process.execPath, [
    PREPARE,
    join(kubernetes, 'pipeline/generated'),
    'kubernetes',
  ]);
  // `npm run setup -- --test` has built it before, which takes minutes the first time.
  const build = ['build', '-buildvcs=false', '-o', CHECK, '.'];
  await promisify(execFile)('go', build, { cwd: join(import.meta.dirname, 'check') });
});

after(() => remove(dir));

/** Lines without settings that differ by place: addresses, ports, folders, passwords, users. */
const settings = (lines: readonly string[]) =>
  lines.filter(
    (line) => !/^(bind|port|listener|user|aclfile|acl_file|password_file|dir|maxmemory) /.test(line),
  );

test('a prefix of the keys is the same for all programs and users in containers', () => {
  const made = files('kubernetes', 'shop');
  for (const name of ['ingest.env', 'relay.env', 'operator.env'])
    assert.ok(made[name]?.includes('QUEUE_PREFIX=shop'), name);
  assert.equal(JSON.parse(made['stack.json']?.[0] ?? '').division.prefix, 'shop');
  const rights = made['redis.acl']?.join('\n').replaceAll('~arrival:run:', '') ?? '';
  assert.match(rights, /~shop:messages/);
  assert.doesNotMatch(rights, /arrival:/);
});

test('Redis, Mosquitto and nginx in containers have the settings of the stack', async () => {
  const made = files('compose');
  const lines = async (name: string) => (await readFile(join(dir, name), 'utf8')).trimEnd().split('\n');
  await prepareRedis(dir, 1, secrets(REDIS_USERS));
  await prepareMosquitto(dir, 1, secrets(BROKER_USERS));
  for (const name of ['redis.conf', 'mosquitto.conf']) {
    assert.deepEqual(settings(made[name] ?? []), settings(await lines(name)), name);
    assert.ok(settings(made[name] ?? []).length > 3, name);
  }
  assert.deepEqual(made['mosquitto.acl'], await lines('mosquitto.acl'));
  const withoutPasswords = (acl: readonly string[] = []) =>
    acl.map((line) => line.replace(/#[0-9a-f]{64}/, '#'));
  assert.deepEqual(withoutPasswords(made['redis.acl']), withoutPasswords(await lines('redis.acl')));
  const plain = nginxConfig('/tmp', { port: 1, ingests: ['http://a:1'], bodyLimit: 1_048_576 });
  const same = (text: string) =>
    text.replaceAll(/^ +(listen|server) .*$|^user .*$/gm, '').replaceAll(/\n+/g, '\n');
  assert.equal(same(made['nginx.conf']?.[0] ?? ''), same(plain));
});

test("a password is hashed as Mosquitto's own tool does it", async () => {
  const file = join(dir, 'users');
  await writeFile(file, 'relay:some password\n', { mode: 0o600 });
  await execa('mosquitto_passwd', ['-U', file], { env: { PATH: DAEMON_PATH } });
  const theirs = (await readFile(file, 'utf8')).trim().slice('relay:'.length);
  const salt = Buffer.from(theirs.split('$')[3] as string, 'base64');
  assert.equal(hashed('some password', salt), theirs);
});

test('prepare keeps existing files, and refuses unknown words in one line', async () => {
  const prepare = (...args: string[]) => promisify(execFile)(process.execPath, [PREPARE, ...args]);
  const stack = join(kubernetes, 'pipeline/generated/stack.json');
  const text = await readFile(stack, 'utf8');
  assert.match(
    (await prepare(join(kubernetes, 'pipeline/generated'), 'kubernetes')).stdout,
    /prepared already/,
  );
  assert.equal(await readFile(stack, 'utf8'), text);
  await assert.rejects(prepare(dir, 'nomad'), {
    stderr: 'prepare.ts: allowed: <directory>, and compose or kubernetes (compose)\n',
  });
});

interface Service {
  image: string;
  user?: string;
  cpu_shares?: number;
  volumes?: { source: string; read_only?: boolean; volume?: { nocopy?: boolean } }[];
  depends_on?: Record<string, { condition: string }>;
}

/** The services of the file, as Compose's own loader reads them. */
async function composed(): Promise<Record<string, Service>> {
  const file = join(import.meta.dirname, 'compose.yaml');
  const [project] = await understood<{ services: Record<string, Service> }>('compose', file);
  return project?.services ?? {};
}

test('the Compose file is valid, and no service runs as root', async () => {
  const services = await composed();
  assert.deepEqual(Object.keys(services).sort(), [
    'ingest-1',
    'ingest-2',
    'k6',
    'mosquitto',
    'nginx',
    'prepare',
    'redis',
    'relay-1',
  ]);
  for (const [name, { image, user }] of Object.entries(services)) {
    const ours = image.startsWith('arrival-');
    assert.ok(ours || /:\d/.test(image), `${name}: ${image} has a version`);
    assert.ok(user === '65532:65532' || (ours && user === undefined), `${name} runs as ${user}`);
  }
});

test('ingests and nginx have a fraction of the CPU share of the others', async () => {
  const services = await composed();
  for (const [name, { cpu_shares }] of Object.entries(services)) {
    assert.equal(cpu_shares, /^(ingest|nginx)/.test(name) ? 128 : undefined, name);
  }
  const { workloads } = await manifests(join(kubernetes, 'pipeline'));
  for (const { name, container } of workloads) {
    assert.equal(container.resources.requests?.cpu, name === 'ingest' ? '100m' : '1', name);
  }
});

// Regression: Redis could not write. Docker creates all containers first, and each image changes the owner of
// an empty volume.
test('only our own images decide the owner of a volume', async () => {
  const services = await composed();
  for (const [name, { image, volumes = [] }] of Object.entries(services)) {
    for (const { source, read_only, volume } of volumes)
      assert.ok(image.startsWith('arrival-') || read_only || volume?.nocopy, `${name}: ${source}`);
  }
});

// Regression: `up` without a service took the end of `prepare` for that of the run. `up … k6` starts only k6
// and its dependencies.
test('k6 depends on all other services', async () => {
  const services = await composed();
  const needed = (name: string): string[] => [
    name,
    ...Object.keys(services[name]?.depends_on ?? {}).flatMap(needed),
  ];
  assert.deepEqual([...new Set(needed('k6'))].sort(), Object.keys(services).sort());
});

test('manifests are valid for Kubernetes and k6-operator, and their references exist', async () => {
  const folders = ['pipeline', 'runs', 'load', 'own', 'testrun', 'reports'];
  const all = await understood<Manifest>('kubernetes', ...folders.map((name) => join(kubernetes, name)));
  const named = (kind: string, name: string) =>
    all.find((one) => one.kind === kind && one.metadata.name === name);
  for (const { kind, metadata, spec } of all) {
    if (spec?.scaleTargetRef)
      assert.ok(named(spec.scaleTargetRef.kind, spec.scaleTargetRef.name), metadata.name);
    const template = spec?.template ?? spec?.jobTemplate?.spec.template;
    if (!template) continue;
    const { containers, securityContext } = template.spec;
    assert.ok(securityContext.runAsNonRoot, `${kind} ${metadata.name}`);
    for (const container of containers) {
      // Generators end by themselves.
      const isProbed = container.readinessProbe && container.livenessProbe;
      assert.ok((isProbed || container.name === 'k6') && container.resources.requests);
      assert.ok(
        container.securityContext.readOnlyRootFilesystem &&
          !container.securityContext.allowPrivilegeEscalation,
      );
      assert.match(container.image, /:\d/);
      for (const { configMapRef, secretRef } of container.envFrom ?? []) {
        if (configMapRef) assert.ok(named('ConfigMap', configMapRef.name), configMapRef.name);
        // Its user makes the secret `own`.
        if (secretRef && secretRef.name !== 'own') assert.ok(named('Secret', secretRef.name), secretRef.name);
      }
    }
  }
  const run = named('TestRun', 'ramp0001');
  assert.deepEqual(
    [run?.spec.parallelism, run?.spec.runner?.image],
    [4, `arrival-k6-operator:${repository.version}`],
  );
});

/** The CronJob of which runs are made, and what applying it makes beside it. */
async function load() {
  const { all, named } = await manifests(join(kubernetes, 'load'));
  const { suspend, jobTemplate, successfulJobsHistoryLimit, failedJobsHistoryLimit } = named(
    'CronJob',
    'load',
  );
  assert.ok(jobTemplate);
  const [container] = jobTemplate.spec.template.spec.containers;
  assert.ok(container);
  const env = new Map((container.env ?? []).map((variable) => [variable.name, variable]));
  const kept = [successfulJobsHistoryLimit, failedJobsHistoryLimit];
  return { all, suspend, kept, job: jobTemplate.spec, container, env };
}

// Regression: a second run wanted a file to be edited, and said "configured" without.
test('manifests: a run is a Job made of a CronJob that never starts by itself', async () => {
  const { all, suspend, kept, job, container, env } = await load();
  // Regression: Kubernetes kept one failed Job, and removed the other one of two runs with its logs.
  for (const limit of kept) assert.ok(limit !== undefined && limit >= 100, `${limit}`);
  assert.ok(job.ttlSecondsAfterFinished >= 3600);
  // `delete -k` must not take the reports along.
  assert.deepEqual(
    all.map(({ kind }) => kind),
    ['CronJob'],
  );
  assert.equal(suspend, true);
  assert.deepEqual([job.completionMode, job.backoffLimitPerIndex], ['Indexed', 0]);
  assert.deepEqual([job.parallelism, env.get('INSTANCES')?.value], [job.completions, `${job.completions}`]);
  assert.equal(
    env.get('RUN_ID')?.valueFrom?.fieldRef.fieldPath,
    "metadata.labels['batch.kubernetes.io/job-name']",
  );
  assert.ok(
    container.volumeMounts?.some(({ mountPath }) => env.get('RUN_DIR')?.value === `${mountPath}/$(RUN_ID)`),
  );
  assert.equal(container.image, `arrival-k6:${repository.version}`);
});

// Regression: `delete -k pipeline` deleted the namespace, and all reports with it.
test('manifests: only `delete -k runs` takes the namespace and the reports', async () => {
  const kept = async (folder: string) =>
    (await understood<Manifest>('kubernetes', join(kubernetes, folder)))
      .filter(({ kind, metadata }) => kind === 'Namespace' || metadata.name === 'runs')
      .map(({ kind }) => kind);
  for (const folder of ['pipeline', 'durable', 'load', 'own', 'testrun', 'reports'])
    assert.deepEqual(await kept(folder), [], folder);
  assert.deepEqual((await kept('runs')).sort(), ['Namespace', 'PersistentVolumeClaim']);
});

// Regression: sed replaced the id once a line, and the second run was to write into the directory of the first one.
test('README.md: the command for a run by k6-operator gives all of it the new id', async () => {
  const readme = await readFile(join(import.meta.dirname, 'README.md'), 'utf8');
  const [, expression = ''] = /testrun \| sed (\S+)/.exec(readme) ?? [];
  const { stdout } = await execa('sed', [expression, join(kubernetes, 'testrun/testrun.yaml')]);
  assert.doesNotMatch(stdout, /ramp0001/);
  assert.match(stdout, /RUN_ID=ramp0002 .*\/ramp0002$/m);
});

// Regression: the image was set for the pipeline alone, and the load ended with ImagePullBackOff.
test('manifests: one list has the names of all images of ours', async () => {
  const list = join(kubernetes, 'images/kustomization.yaml');
  const text = await readFile(list, 'utf8');
  const readme = await readFile(join(import.meta.dirname, 'README.md'), 'utf8');
  const [, expression = ''] = /perl -pi -e '(\S*newName.*?)' /.exec(readme) ?? [];
  try {
    // Regression: the second time put the registry before the names once more, and the first one into the comment.
    for (let time = 0; time < 2; time++) await execa('perl', ['-pi', '-e', expression, list]);
    const comments = (of: string) => of.match(/^#.*$/gm);
    assert.deepEqual(comments(await readFile(list, 'utf8')), comments(text));
    const folders = ['pipeline', 'durable', 'load', 'own', 'testrun', 'reports'];
    const all = await understood<Manifest>('kubernetes', ...folders.map((name) => join(kubernetes, name)));
    const images = [...JSON.stringify(all).matchAll(/"image":"([^"]*\barrival\b[^"]*)"/g)].map(
      ([, image]) => image,
    );
    assert.ok(images.length >= 9, images.join());
    for (const image of images)
      assert.match(image ?? '', new RegExp(`^registry.example/arrival[a-z0-9-]*:${repository.version}$`));
  } finally {
    await writeFile(list, text);
  }
});

test('manifests: a durable broker keeps its sessions on a volume, and subscribers ask for them', async () => {
  const { all, named, workloads } = await manifests(join(kubernetes, 'durable'));
  const { container } = workloads.find(({ name }) => name === 'mosquitto') ?? {};
  const [path = ''] = container?.command?.slice(-1) ?? [];
  const config = (name: string) => readFile(join(kubernetes, 'pipeline/generated', name), 'utf8');
  const [durable, plain] = await Promise.all([config(basename(path)), config('mosquitto.conf')]);
  const [, location] = /^persistence_location (.+)\/$/m.exec(durable) ?? [];
  assert.ok(container?.volumeMounts?.some(({ mountPath }) => mountPath === location));
  const other = /^(persistence|autosave)/;
  const lines = (text: string) => text.split('\n').filter((line) => !other.test(line));
  assert.deepEqual(lines(durable), lines(plain));
  named('PersistentVolumeClaim', 'mosquitto');
  const settings = all.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'load');
  assert.deepEqual(settings?.data, { NETWORK: 'cluster', SESSION: 'persistent' });
});

test('the manifests of a trial are valid, small, and in a namespace of their own', async () => {
  const trialDir = join(dir, 'trial');
  const setting = {
    namespace: 'arrival-test',
    registry: 'registry.example/',
    load: { RATE: '50' },
    generators: 2,
  };
  const folder = await writeTrial(trialDir, setting);
  await cp(join(kubernetes, 'pipeline/generated'), join(trialDir, 'pipeline/generated'), { recursive: true });
  const all = await understood<Manifest & { metadata: { namespace?: string } }>('kubernetes', folder);
  for (const { kind, metadata } of all)
    assert.equal(kind === 'Namespace' ? metadata.name : metadata.namespace, 'arrival-test', metadata.name);
  const cron = all.find(({ kind }) => kind === 'CronJob')?.spec.jobTemplate?.spec;
  const [container] = cron?.template.spec.containers ?? [];
  assert.deepEqual([cron?.completions, cron?.parallelism], [2, 2]);
  assert.equal(container?.env?.find(({ name }) => name === 'INSTANCES')?.value, '2');
  assert.equal(container?.image, `registry.example/arrival-k6:${repository.version}`);
  const settings = all.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'load')?.data;
  assert.deepEqual(settings, { NETWORK: 'cluster', SESSION: 'persistent', RATE: '50' });
  assert.ok((await requestsOf(folder)).cpu < 0.3);
});

/** CPU and GiB that pods request: of a Deployment with an autoscaler its least number. */
async function requestsOf(folder: string): Promise<{ cpu: number; memory: number }> {
  const all = await understood<Manifest>('kubernetes', folder);
  const amount = (text: string) => {
    const [, number, unit = ''] = /^([\d.]+)(m|Mi|Gi)?$/.exec(text) ?? [];
    return Number(number) * ({ m: 1e-3, Mi: 1 / 1024 }[unit] ?? 1);
  };
  const sum = { cpu: 0, memory: 0 };
  for (const { kind, metadata, spec } of all) {
    const scaler = all.find((one) => one.spec?.scaleTargetRef?.name === metadata.name);
    const job = spec?.jobTemplate?.spec;
    const pods =
      job?.completions ?? (kind === 'HorizontalPodAutoscaler' ? 0 : (scaler?.spec.minReplicas ?? 1));
    for (const { resources } of (job?.template ?? spec?.template)?.spec.containers ?? []) {
      sum.cpu += pods * amount(resources.requests?.cpu ?? '');
      sum.memory += pods * amount(resources.requests?.memory ?? '');
    }
  }
  return sum;
}

test('README.md says what pods request in all', async () => {
  const readme = await readFile(join(import.meta.dirname, 'README.md'), 'utf8');
  for (const folder of ['pipeline', 'load', 'reports']) {
    const { cpu, memory } = await requestsOf(join(kubernetes, folder));
    const rounded = (value: number) => `${Math.round(value * 10) / 10}`;
    assert.ok(
      readme.includes(`| \`${folder}\` | ${rounded(cpu)} | ${rounded(memory)} GiB |`),
      `${folder}: ${cpu} CPU, ${memory} GiB`,
    );
  }
});

test('manifests: each container has resources and probes', async () => {
  const { workloads } = await manifests(join(kubernetes, 'pipeline'));
  assert.deepEqual(workloads.map(({ name }) => name).sort(), ['ingest', 'mosquitto', 'redis', 'relay']);
  const dockerfile = await readFile(join(ROOT, 'pipeline/pipeline.Dockerfile'), 'utf8');
  for (const { name, labels, container } of workloads) {
    // Services and policies select the first label. The second one closes the pod to all others.
    assert.deepEqual(labels, { 'app.kubernetes.io/name': name, 'app.kubernetes.io/part-of': 'arrival' });
    const { ports, resources, startupProbe, livenessProbe, readinessProbe } = container;
    assert.deepEqual(Object.keys(resources.requests ?? {}).sort(), ['cpu', 'memory'], name);
    // One thread serves commands; others write the log.
    assert.equal(resources.limits?.cpu, name === 'redis' ? undefined : '1', name);
    assert.match(resources.limits?.memory ?? '', /^\d+[MG]i$/, name);
    const probes = [startupProbe, livenessProbe, readinessProbe];
    for (const { httpGet, tcpSocket } of probes.filter((probe) => probe !== undefined)) {
      const port = (httpGet ?? tcpSocket)?.port;
      assert.ok(
        ports.some((one) => one.name === port),
        `${name}: ${port}`,
      );
    }
    if (!container.image.startsWith('arrival-')) continue;
    assert.deepEqual(
      probes.map((probe) => [probe?.httpGet?.port, probe?.httpGet?.path]),
      [
        ['health', '/livez'],
        ['health', '/livez'],
        ['health', '/readyz'],
      ],
    );
    const health = ports.find((port) => port.name === 'health');
    assert.match(dockerfile, new RegExp(`HEALTH_PORT=${health?.containerPort}\n`));
  }
});

test('manifests: relays scale by lag, ingests by CPU, one may stop at a time, and settings fit', async () => {
  const { all, named, workloads } = await manifests(join(kubernetes, 'pipeline'));
  assert.deepEqual(named('HorizontalPodAutoscaler', 'relay').metrics, [
    {
      type: 'External',
      external: {
        metric: { name: 'arrival_queue_messages' },
        target: { type: 'AverageValue', averageValue: '5k' },
      },
    },
  ]);
  assert.deepEqual(named('HorizontalPodAutoscaler', 'ingest').metrics, [
    { type: 'Resource', resource: { name: 'cpu', target: { type: 'AverageValue', averageValue: '600m' } } },
  ]);
  for (const [name, schema] of [
    ['ingest', IngestConfig],
    ['relay', RelayConfig],
  ] as const) {
    const own = workloads.find((one) => one.name === name);
    const variables = (own?.container.envFrom ?? []).flatMap(({ configMapRef, secretRef }) => {
      const from = all.find(({ metadata }) => metadata.name === (configMapRef ?? secretRef)?.name);
      const plain = (value: string) => (secretRef ? Buffer.from(value, 'base64').toString() : value);
      return Object.entries(from?.data ?? {}).map(([variable, value]) => [variable, plain(value)]);
    });
    const config = readConfig<TObject>(schema, { ...Object.fromEntries(variables), PROCESS_NAME: name });
    assert.deepEqual([config.STREAM_SHARDS, new URL(String(config.REDIS_URL)).username], [8, name]);
    const { minReplicas = 0, maxReplicas } = named('HorizontalPodAutoscaler', name);
    const { maxUnavailable = 0, selector } = named('PodDisruptionBudget', name);
    assert.deepEqual([maxUnavailable, selector], [1, { matchLabels: { 'app.kubernetes.io/name': name } }]);
    assert.ok(minReplicas > maxUnavailable, 'one pod stays');
    const grace = 1000 * (own?.pod.terminationGracePeriodSeconds ?? 0);
    if (name === 'ingest') {
      const sleeps = 1000 * (own?.container.lifecycle?.preStop.sleep.seconds ?? 0);
      assert.ok(grace >= sleeps + LEAVE.withinMs + 10_000, `${grace} ms, and then SIGKILL`);
      continue;
    }
    assert.equal(maxReplicas, config.STREAM_SHARDS, 'another relay would have no shard');
    assert.ok(grace >= Number(config.RELAY_GRACE_MS) + 3000, `${grace} ms, and then SIGKILL`);
  }
});

// Regression: no ingest pod started. The Service ingest gave each container INGEST_PORT=tcp://…
test('manifests: pods get no variables of Services', async () => {
  const { workloads } = await manifests(join(kubernetes, 'pipeline'));
  for (const { name, pod } of workloads) assert.equal(pod.enableServiceLinks, false, name);
});

/** The variables that Kubernetes makes of the Services in a pod's namespace, as Docker's links were. */
async function serviceLinks(): Promise<Record<string, string>> {
  const { of } = await manifests(join(kubernetes, 'pipeline'));
  const links = of('Service').flatMap(({ metadata: { name }, spec }) =>
    (spec.ports ?? []).flatMap(({ name: port, port: number }) => {
      const own = name.toUpperCase().replaceAll('-', '_');
      const address = `tcp://10.96.0.1:${number}`;
      return [
        [`${own}_SERVICE_HOST`, '10.96.0.1'],
        [`${own}_SERVICE_PORT`, `${number}`],
        [`${own}_SERVICE_PORT_${port.toUpperCase()}`, `${number}`],
        [`${own}_PORT`, address],
        [`${own}_PORT_${number}_TCP`, address],
      ];
    }),
  );
  assert.ok(links.some(([name]) => name === 'INGEST_PORT'));
  return Object.fromEntries(links);
}

// Regression: Redis was killed for its memory before it was full, loaded its log, and was killed again.
test('manifests: maxmemory of Redis is below the memory limit of its container', async () => {
  const { workloads } = await manifests(join(kubernetes, 'pipeline'));
  const { limits } = workloads.find(({ name }) => name === 'redis')?.container.resources ?? {};
  const [, gib] = /^(\d+)Gi$/.exec(limits?.memory ?? '') ?? [];
  const config = await readFile(join(kubernetes, 'pipeline/generated/redis.conf'), 'utf8');
  const [, mib] = /^maxmemory (\d+)mb$/m.exec(config) ?? [];
  const share = Number(mib) / 1024 / Number(gib);
  assert.ok(share > 0.5 && share <= 0.6, `${share} of the container's limit`);
});

test('manifests: secrets are only in Secrets', async () => {
  const { all, of, workloads } = await manifests(join(kubernetes, 'pipeline'));
  for (const { name, pod, container } of workloads) {
    const volumes = pod.volumes?.flatMap(({ secret }) => secret?.secretName ?? []) ?? [];
    const held = of('Secret').filter(({ metadata }) => volumes.includes(metadata.name));
    assert.equal(held.length, volumes.length, name);
    const paths = [...(container.command ?? []), ...(container.args ?? [])].filter((arg) =>
      arg.startsWith('/run/'),
    );
    for (const path of paths)
      assert.ok(
        held.some(({ data }) => data?.[basename(path)]),
        `${name}: ${path}`,
      );
  }
  const { redis, mqtt, ingest } = JSON.parse(
    await readFile(join(kubernetes, 'pipeline/generated/stack.json'), 'utf8'),
  );
  const open = JSON.stringify(all.filter(({ kind }) => kind !== 'Secret'));
  for (const secret of [new URL(redis.url).password, mqtt.password, ingest.token])
    assert.ok(secret.length > 20 && !open.includes(secret));
});

test('containers of a Compose file share a host, pods of a cluster do not', () => {
  const stack = (engine: 'compose' | 'kubernetes') =>
    JSON.parse(files(engine)['stack.json']?.[0] ?? '') as { oneHost?: true };
  assert.deepEqual([stack('compose').oneHost, stack('kubernetes').oneHost], [true, undefined]);
});

// Regression: k6 archive and k6 inspect get no variables of their container, so the script found no pipeline
// and the TestRun ended in "error".
test("k6-operator's initializer can archive and inspect the script", async () => {
  const [run] = await understood<Manifest>('kubernetes', join(kubernetes, 'testrun')).then((all) =>
    all.filter(({ kind }) => kind === 'TestRun'),
  );
  const here = (text: string) => text.replaceAll('/run/arrival', join(kubernetes, 'pipeline/generated'));
  const env = Object.fromEntries(
    (run?.spec.initializer?.env ?? []).map(({ name, value }) => [name, here(value)]),
  );
  const script = run?.spec.script?.localFile.replace('/arrival', ROOT) ?? '';
  const archive = join(dir, 'archived.tar');
  // Pods of k6-operator cannot refuse the variables of Services.
  const inPod = { ...(await serviceLinks()), ...env };
  const k6 = (...args: string[]) => execa(join(ROOT, 'k6'), args, { env: inPod, extendEnv: false });
  await k6('archive', script, '-O', archive, ...here(run?.spec.arguments ?? '').split(' '));
  const { stdout } = await k6('inspect', '--execution-requirements', archive);
  assert.equal(JSON.parse(stdout).maxVUs, 65);
});

for (const [file, right, wrong] of [
  ['pipeline/relay.yaml', 'terminationGracePeriodSeconds', 'terminationGraceSeconds'],
  ['load/load.yaml', 'backoffLimitPerIndex', 'backoffPerIndex'],
  ['testrun/testrun.yaml', 'parallelism', 'paralelism'],
] as const) {
  test(`an unknown field is an error: ${wrong}`, async () => {
    const path = join(kubernetes, file);
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace(right, wrong));
    try {
      await assert.rejects(
        understood('kubernetes', join(kubernetes, file.split('/')[0] as string)),
        new RegExp(wrong),
      );
    } finally {
      await writeFile(path, text);
    }
  });
}
