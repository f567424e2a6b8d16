import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { before, describe, type TestContext, test } from 'node:test';
import { execa } from 'execa';
import { remove } from '../../pipeline/test/services.ts';
import { buildToxiproxy } from '../../pipeline/test/toxiproxy.ts';
import type { Run } from '../../reports/contract/run.ts';
import { Bare, bottlenecks } from '../campaigns/matrix/baseline.ts';
import { main } from '../campaigns/matrix/main.ts';
import { readOptions } from '../campaigns/matrix/options.ts';
import { line, type Result, table } from '../campaigns/matrix/table.ts';
import { Lab, PIPELINE } from '../lab/lab.ts';
import { type Means, NETWORKS, type Network, planOf, qdisc, wantsProxy } from '../lab/networks.ts';
import { meanAndSpread } from '../run/table.ts';
import { assertPass, assertRefused, killRelay, lacks, node, place, ROOT, readRun } from './harness.ts';

const MAIN = 'scenarios/campaigns/matrix/main.ts';
const [LAN, FIREWALL, INTERNET] = NETWORKS as [Network, Network, Network];
const ALL: Means = { namespaces: null, netem: null, tbf: null, nftables: null };

describe('the plan of a network', () => {
  test('uses the kernel alone if it has every feature', () => {
    for (const network of NETWORKS) {
      const plan = planOf(network, ALL);
      assert.deepEqual(plan.shortcomings, []);
      assert.equal(wantsProxy(plan), false);
    }
    assert.equal(qdisc(planOf(LAN, ALL)), 'netem limit 10000 rate 100mbit');
    assert.equal(qdisc(planOf(INTERNET, ALL)), 'netem limit 10000 delay 20ms loss 0.1% rate 100mbit');
    assert.equal(planOf(FIREWALL, ALL).firewall, 'nftables');
  });

  test('without netem, uses tbf and a proxy for the delay, and reports the missing loss', () => {
    const means = { ...ALL, netem: 'unknown' };
    assert.equal(qdisc(planOf(LAN, means)), 'tbf rate 100mbit burst 64kb latency 100ms');
    assert.equal(wantsProxy(planOf(LAN, means)), false);
    const plan = planOf(INTERNET, means);
    assert.deepEqual([plan.delay, plan.loss, plan.rate, plan.firewall], ['proxy', 'none', 'tbf', 'nftables']);
    assert.deepEqual(plan.shortcomings, [
      'delay by a TCP proxy, new connections apart (unknown)',
      'no loss (unknown)',
    ]);
  });

  test('without namespaces, uses a proxy alone', () => {
    const means = { namespaces: 'no rights', netem: 'no rights', tbf: 'no rights', nftables: 'no rights' };
    const plan = planOf(FIREWALL, means);
    assert.deepEqual([plan.rate, plan.firewall, plan.namespaces], ['proxy', 'proxy', false]);
    assert.equal(qdisc(plan), undefined);
    assert.equal(plan.shortcomings.length, 2);
  });
});

test('generator, bandwidth and round trip must each allow twice the load', () => {
  const fine = { rtt_ms: 40, up_mbit: 90, down_mbit: 90 };
  const demand = { rate: 200, connections: 64 };
  assert.deepEqual(bottlenecks(demand, 400, { lan: fine }), []);
  assert.match(
    String(bottlenecks(demand, 399, {})),
    /^the generator alone sends 399 .* lower --rate to 199$/,
  );
  assert.match(
    String(bottlenecks(demand, 400, { lan: { ...fine, down_mbit: 3.1 } })),
    /^the network lan carries 3\.1 Mbit\/s, and 3\.2 are needed .* lower --rate to 193$/,
  );
  assert.match(
    String(bottlenecks(demand, 400, { lan: { ...fine, rtt_ms: 170 } })),
    /^over the network lan \(round trip 170 ms\) 64 connections send 376 .* more --connections$/,
  );
});

test('the table gives mean and spread of the valid runs of each cell, and counts them', () => {
  assert.deepEqual(meanAndSpread([1, 3, null]), { mean: 2, spread: Math.SQRT2 });
  const one: Result = {
    topology: 'single',
    network: 'lan',
    dir: '',
    verdict: 'pass',
    p50: 1,
    p99: 9,
    http_p50: 0.5,
    missing: 0,
  };
  const runs: Result[] = [
    one,
    { ...one, network: 'internet', p50: 41 },
    { ...one, p50: 3 },
    { ...one, verdict: 'invalid', reason: 'the generator was late', p50: 1000, missing: 2 },
  ];
  const [, first, second] = table(runs).split('\n');
  assert.match(String(first), /^single {4}lan {7}2\.00 ± 1\.41 +9\.00 ± 0\.00 +0\.500 ± 0\.000 +2 +2 of 3$/);
  assert.match(String(second), /^single {4}internet +41\.0 +9\.00 +0\.500 +0 +1 of 1$/);
  assert.match(
    line(runs[3] as Result),
    /p50 {2}1,000 .* invalid, 2 messages missing: the generator was late$/,
  );
});

test('an invalid flag or setting fails with one line before anything starts', async () => {
  const wrong: [args: string[], message: RegExp][] = [
    [['--repeat', '0'], /^--repeat is "0"; allowed: whole numbers from 1 to 20$/],
    [['--rate', ''], /^--rate is ""; allowed: whole numbers from 1 to 100000$/],
    [['--networks', 'lan,wan'], /^--networks is "lan,wan"; allowed: lan, firewall, internet, with commas/],
    [['--by', 'magic'], /^--by is "magic"; allowed: auto, kernel, proxy$/],
    [['--speed', '9'], /^--speed is not known; allowed: --repeat, .*--by, --help$/],
  ];
  for (const [args, message] of wrong) assert.throws(() => readOptions(args), { message });
  await assertRefused(
    main,
    [],
    { MQTT_URL: 'mqtt://there' },
    /^MQTT_URL is set, and the matrix starts a pipeline of its own .*: leave it out$/,
  );
});

describe('a short matrix', { concurrency: true }, () => {
  /** Runs a matrix. Returns its output and the runs that its matrix.json lists. */
  async function matrix(t: TestContext, flags: string, rate = 20) {
    const { env } = await place(t);
    const args = `--duration 0.5 --rate ${rate} ${flags}`.split(' ');
    const { all, stderr, exitCode } = await node([MAIN, ...args], { ...env, WARMUP: '0.1' });
    const output = String(all);
    const file = /^figures {5}(\S+)$/m.exec(output)?.[1];
    if (file === undefined) return { output, stderr, exitCode, results: [] as Result[], runs: [] as Run[] };
    const folder = dirname(join(ROOT, file));
    t.after(() => remove(folder));
    const { runs: results, ...figures } = JSON.parse(await readFile(join(ROOT, file), 'utf8'));
    for (const { dir } of results) t.after(() => remove(join(ROOT, dir)));
    const runs = await Promise.all(results.map(({ dir }: Result) => readRun(join(ROOT, dir))));
    for (const run of runs) {
      assert.equal(run.account.arrived, 12, output);
      assertPass(run, run.verdict.result === 'pass' ? 0 : 99);
    }
    const passed = runs.every(({ verdict }) => verdict.result === 'pass');
    assert.equal(exitCode, passed ? 0 : 99, output);
    return { output, stderr, exitCode, results: results as Result[], runs: runs as Run[], ...figures };
  }
  const cellOf = ({ dir }: Result) => /^reports\/runs\/matrix-(\w+-\w+)-\d{8}T\d{6}Z$/.exec(dir)?.[1];
  before(buildToxiproxy);

  test('by proxy: repeats a cell, and a page compares the runs', async (t) => {
    const flags = '--by proxy --repeat 2 --topologies single --networks internet';
    const { output, results, runs, alone, networks } = await matrix(t, flags);
    assert.deepEqual(results.map(cellOf), ['single-internet', 'single-internet'], output);
    assert.equal(new Set(results.map((result: Result) => result.dir)).size, 2);
    assert.match(output, /^single +internet .*[0-2] of 2$/m);
    assert.match(output, /^comparison {2}\S+\/index\.html$/m);
    assert.equal(networks[0].made.network_delay, '20 ms each way (proxy)');
    // No latency is below the delay.
    assert.ok(alone.networks.internet.rtt_ms >= 40, output);
    for (const { clock, latency } of runs) {
      assert.ok((latency.http.min ?? 0) >= 40, output);
      assert.ok((latency.stages.delivery.min ?? 0) >= 20 - (clock?.bound_ms ?? 0), output);
    }
  });

  test('--capacity: reports the highest rate that a cell holds, and the run that held it', async (t) => {
    const { env } = await place(t);
    const flags = '--capacity --p99 60000 --by proxy --repeat 1 --topologies single --networks lan';
    const args = `--duration 1 --rate 20 --highest 40 ${flags}`.split(' ');
    const { all, exitCode } = await node([MAIN, ...args], { ...env, WARMUP: '0.1' });
    const output = String(all);
    const folder = dirname(join(ROOT, /^figures {5}(\S+)$/m.exec(output)?.[1] ?? assert.fail(output)));
    t.after(() => remove(folder));
    const { runs } = JSON.parse(await readFile(join(folder, 'matrix.json'), 'utf8'));
    t.after(() => remove(join(ROOT, runs[0].dir)));
    const run = await readRun(join(ROOT, runs[0].dir));
    const tried = [...output.matchAll(/^ +([\d,]+) requests\/s {2}(held|not held)/gm)].map(
      ([, rate = '', what]) => `${rate.replaceAll(',', '')} ${what}`,
    );
    assert.equal(tried[0]?.split(' ')[0], '20', output);
    const held = Math.max(
      0,
      ...tried.filter((one) => / held$/.test(one) && !/not/.test(one)).map(Number.parseFloat),
    );
    assert.equal(runs[0].rate, held, output);
    if (held > 0) assert.match(run.run.profile.name, new RegExp(`^${held} requests/s$`));
    assert.match(output, /^topology +network +requests\/s +arrival p50/m);
    assert.equal(exitCode, held > 0 ? 0 : 99, output);
  });

  test('by kernel: measures a cluster behind a firewall', async (t) => {
    const refusal = lacks('network namespaces', 'traffic shaping', 'nftables');
    if (refusal !== null) return t.skip(refusal);
    const flags = '--by kernel --repeat 1 --topologies cluster --networks firewall';
    const { output, results, runs } = await matrix(t, flags);
    assert.deepEqual(results.map(cellOf), ['cluster-firewall'], output);
    assert.equal(runs[0]?.environment.pipeline.network_firewall, 'nftables');
    assert.equal(runs[0]?.run.topology, 'cluster');
  });

  test('fails with the reason when a process of the pipeline dies', async (t) => {
    const { dir, env } = await place(t);
    const flags = '--by proxy --repeat 1 --topologies single --networks lan --duration 60 --rate 20'.split(
      ' ',
    );
    const matrix = node([MAIN, ...flags], { ...env, WARMUP: '0.1' });
    matrix.stdout.on('data', (text) => {
      if (/^matrix {6}1 runs/m.test(String(text))) killRelay(join(dir, 'matrix'));
    });
    const { all, exitCode } = await matrix;
    assert.match(String(all), /^relay-1 was killed by SIGKILL$/m);
    assert.equal(exitCode, 1);
  });

  test('is refused if the generator or the network is the bottleneck', async (t) => {
    const flags = '--by proxy --repeat 1 --topologies single --networks lan --connections 1';
    const { output, stderr, exitCode } = await matrix(t, flags, 100_000);
    assert.match(
      stderr,
      /^the matrix is refused: the generator alone sends .+\nthe network lan carries .+: lower --rate to [\d,]+/m,
    );
    assert.doesNotMatch(output, /^matrix {6}1 runs/m);
    assert.equal(exitCode, 1);
  });
});

describe('network namespaces', { concurrency: true }, () => {
  test('a missing tool is reported with the command that installs it', async (t) => {
    const refusal = lacks('network namespaces');
    if (refusal !== null) return t.skip(refusal);
    assert.match(String(Lab.refusal(() => false)), /^ip, unshare, nsenter not installed: .*install/);
    const lab = await Lab.open(() => false);
    t.after(() => lab.close());
    assert.match(String(lab.means.netem), /^tc is not installed: .*install/);
    assert.match(String(lab.means.nftables), /^nft is not installed: .*install/);
  });

  /** Connects from the generator's namespace, and returns the outcome. */
  async function connection(lab: Lab, port: number, timeout = 30_000): Promise<string> {
    const script = `const s = require('net').connect({ host: '${PIPELINE}', port: ${port}, timeout: ${timeout} });
      for (const e of ['connect', 'error', 'timeout']) s.on(e, () => { console.log(e); s.destroy(); });`;
    const [command = '', ...args] = [...lab.within('generator'), process.execPath, '-e', script];
    return (await execa(command, args)).stdout;
  }

  test('the router opens only the given ports, and its processes end with the lab', async (t) => {
    const refusal = lacks('network namespaces', 'traffic shaping', 'nftables');
    if (refusal !== null) return t.skip(refusal);
    const lab = await Lab.open();
    t.after(() => lab.close());
    assert.equal(lab.means.nftables, null);
    // A server in the pipeline's namespace with two ports; the router allows one.
    const bare = join(ROOT, 'scenarios/campaigns/matrix/baseline.ts');
    const serve = `const { Bare } = await import('${bare}'); const b = await Bare.start('0.0.0.0');
      console.log(b.httpPort, b.tcpPort);`;
    const [command = '', ...args] = [...lab.within('pipeline'), process.execPath, '--input-type=module'];
    const server = execa(command, [...args, '-e', serve], { reject: false });
    t.after(async () => {
      server.kill('SIGKILL');
      await server;
    });
    const [text] = await once(server.stdout, 'data');
    const [open, shut] = String(text).trim().split(' ').map(Number) as [number, number];
    await lab.shape(planOf(FIREWALL, lab.means), [open]);
    assert.equal(await connection(lab, open), 'connect');
    assert.equal(await connection(lab, shut, 1000), 'timeout');
    await lab.clear();
    assert.equal(await connection(lab, shut), 'connect');
    const { pids } = JSON.parse(lab.serialize());
    await lab.close();
    for (const pid of Object.values(pids)) assert.throws(() => process.kill(pid as number, 0), /ESRCH/);
  });
});

test('the bare server answers 202 until it is stopped', async () => {
  const bare = await Bare.start('127.0.0.1');
  const { status } = await fetch(`http://127.0.0.1:${bare.httpPort}/messages`, { method: 'POST', body: 'x' });
  assert.equal(status, 202);
  bare.stop();
  await assert.rejects(fetch(`http://127.0.0.1:${bare.httpPort}/`));
});
