/**
 * `npm run test:cluster`: the manifests in the cluster of kubectl's current context, in a namespace of their own that is
 * removed afterwards. The images of ours have to be there: on its nodes, or in REGISTRY (`registry.example/`).
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { execa } from 'execa';
import type { Run } from '../../reports/contract/run.ts';
import { eventually, remove, temporaryDirectory } from '../test/services.ts';
import { writeTrial } from './trial.ts';

const PREPARE = join(import.meta.dirname, 'prepare.ts');
const PATIENT_MS = 300_000;
const GENERATORS = 2;
/** 20 s at full rate. */
const LOAD = {
  WARMUP_RATE: '10',
  WARMUP_DURATION: '3',
  RAMP_DURATION: '2',
  RATE: '50',
  SUSTAINED_DURATION: '20',
  // Whoever runs this may have a busy machine.
  P99: '60000',
};

const namespace = `arrival-test-${randomBytes(4).toString('hex')}`;
const { REGISTRY: registry = '' } = process.env;

/** kubectl in the namespace of the trial. Rejects with what it printed. */
async function kubectl(...args: string[]): Promise<string> {
  const { stdout } = await execa('kubectl', ['--namespace', namespace, ...args]);
  return stdout;
}

/** Why there is no trial; undefined: a cluster answers. */
async function obstacle(): Promise<string | undefined> {
  const { failed, stderr, code } = await execa('kubectl', ['version', '--request-timeout=10s'], {
    reject: false,
  });
  if (!failed) return undefined;
  return code === 'ENOENT'
    ? 'kubectl is not installed'
    : `no cluster answers kubectl: ${stderr.split('\n').at(-1)}`;
}

const skip = (await obstacle()) ?? false;
let dir: string;
let trial: string;

before(async () => {
  if (skip) return;
  dir = await temporaryDirectory();
  trial = await writeTrial(dir, { namespace, registry, load: LOAD, generators: GENERATORS });
  await execa(process.execPath, [PREPARE, join(dir, 'pipeline/generated'), 'kubernetes']);
  await kubectl('apply', '-k', trial);
});

after(async () => {
  if (skip) return;
  // Where an aggregated API is away, the namespace is never deleted.
  const within = `--timeout=${PATIENT_MS / 1000}s`;
  await execa('kubectl', ['delete', 'namespace', namespace, '--ignore-not-found', within], {
    reject: false,
  });
  await remove(dir);
});

const WORKLOADS = [
  'deployment/ingest',
  'deployment/relay',
  'deployment/mosquitto',
  'statefulset/redis',
  'deployment/reports',
];

/** Resolves when all pods are ready. On the way out it shows what is not. */
async function allReady(): Promise<void> {
  for (const workload of WORKLOADS) {
    await kubectl('rollout', 'status', workload, `--timeout=${PATIENT_MS / 1000}s`).catch(
      async (error: Error) => {
        throw new Error(`${error.message}\n${await kubectl('get', 'pods,pvc,events')}`);
      },
    );
  }
}

/** Runs the load, `meanwhile` as soon as messages arrive. Returns the merged run. */
async function run(meanwhile: () => Promise<void>): Promise<Run> {
  const id = `t${randomBytes(5).toString('hex')}`;
  const job = `job/${id}`;
  await kubectl('create', 'job', id, '--from=cronjob/load');
  try {
    await eventually(() => isUnderWay(id), 'the load', PATIENT_MS);
    await meanwhile();
    // A generator whose run does not pass ends with an error, so the Job fails.
    const conditions = 'jsonpath={.status.conditions[?(@.status=="True")].type}';
    const over = async () => /Complete|Failed/.test(await kubectl('get', job, '-o', conditions));
    await eventually(over, 'the end of the run', PATIENT_MS);
    return JSON.parse(await inReports('cat', `reports/runs/${id}/run.json`)) as Run;
  } catch (error) {
    const logs = await kubectl(
      'logs',
      '-l',
      `batch.kubernetes.io/job-name=${id}`,
      '--prefix',
      '--tail=40',
    ).catch(String);
    throw new Error(`${(error as Error).message}\n${logs}`, { cause: error });
  }
}

const inReports = (...command: string[]) =>
  kubectl('exec', 'deployment/reports', '-c', 'k6', '--', ...command);

/** Whether the load of a run is under way: a generator writes a line a second. */
async function isUnderWay(id: string): Promise<boolean> {
  const timeline = `reports/runs/${id}/generator-1/timeline.ndjson`;
  const lines = await inReports('cat', timeline).catch(() => '');
  return lines.split('\n').length > 5;
}

const options = { skip, timeout: 4 * PATIENT_MS };

function nothingIsLost(t: TestContext, account: Run['account']): void {
  const { scheduled, arrived, rejected, lost, duplicates } = account;
  t.diagnostic(
    `${scheduled} scheduled, ${arrived} arrived, ${rejected} rejected, ${lost} lost, ${duplicates} twice`,
  );
  const all = JSON.stringify(account);
  assert.ok(account.balanced && account.scheduled > 1000, all);
  assert.deepEqual([account.lost, account.queued], [0, 0], all);
}

test('the pods become ready', options, allReady);

test('a relay and Redis are deleted: nothing is lost, and each refusal is a 503', options, async (t) => {
  const { account, errors } = await run(async () => {
    const relays = await kubectl('get', 'pods', '-l', 'app.kubernetes.io/name=relay', '-o', 'name');
    await kubectl('delete', relays.split('\n')[0] as string, '--wait=false');
    await kubectl('delete', 'pod/redis-0');
    await allReady();
  });
  nothingIsLost(t, account);
  // Pods that left the Service would be "refused".
  const others = errors.filter(({ stage, class: kind }) => stage === 'request' && kind !== 'HTTP 503');
  assert.deepEqual(others, []);
});

test('the broker is deleted: nothing is lost', options, async (t) => {
  const { account } = await run(async () => {
    await kubectl('delete', 'pod', '-l', 'app.kubernetes.io/name=mosquitto');
    await allReady();
  });
  nothingIsLost(t, account);
  assert.equal(account.rejected, 0, 'Redis has them meanwhile');
});

test(
  'ingests and relays are replaced under load: no request fails, nothing is lost or twice',
  options,
  async (t) => {
    const { account, errors, generators } = await run(async () => {
      await kubectl('rollout', 'restart', 'deployment/ingest', 'deployment/relay');
      await allReady();
    });
    nothingIsLost(t, account);
    assert.deepEqual(errors, []);
    assert.equal(account.arrived, account.scheduled, JSON.stringify(account));
    assert.equal(account.duplicates, 0, JSON.stringify(account));
    assert.equal(generators?.length, GENERATORS);
  },
);

test('the history server lists the runs', options, async () => {
  const script =
    "fetch('http://127.0.0.1:8022/api/runs').then(async (answer) => console.log(await answer.text()))";
  const listed = await kubectl('exec', 'deployment/reports', '-c', 'history', '--', 'node', '-e', script);
  assert.match(listed, /t[0-9a-f]{10}/);
});
