import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { execa } from 'execa';
import { buildToxiproxy } from '../../pipeline/faults/toxiproxy.ts';
import { remove } from '../../pipeline/test/services.ts';
import { Bare, bottlenecks } from '../matrix/baseline.ts';
import { Lab, PIPELINE } from '../matrix/lab.ts';
import { type Means, NETWORKS, type Network, planOf, qdisc, wantsProxy } from '../matrix/networks.ts';
import { readOptions } from '../matrix/options.ts';
import { line, meanAndSpread, type Result, table } from '../matrix/table.ts';
import { assertPass, node, ROOT, readRun } from './harness.ts';

const MAIN = 'scenarios/matrix/main.ts';
const [LAN, FIREWALL, INTERNET] = NETWORKS as [Network, Network, Network];
const ALL: Means = { namespaces: null, netem: null, tbf: null, nftables: null };

describe('what makes a network', () => {
  test('the kernel, where it has everything', () => {
    for (const network of NETWORKS) {
      const plan = planOf(network, ALL);
      assert.deepEqual(plan.shortcomings, []);
      assert.equal(wantsProxy(plan), false);
    }
    assert.equal(qdisc(planOf(LAN, ALL)), 'netem limit 10000 rate 100mbit');
    assert.equal(qdisc(planOf(INTERNET, ALL)), 'netem limit 10000 delay 20ms loss 0.1% rate 100mbit');
    assert.equal(planOf(FIREWALL, ALL).firewall, 'nftables');
  });

  test('without netem, tbf and a proxy for the delay; the loss that is missing is told', () => {
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

  test('without namespaces a proxy alone', () => {
    const means = { namespaces: 'no rights', netem: 'no rights', tbf: 'no rights', nftables: 'no rights' };
    const plan = planOf(FIREWALL, means);
    assert.deepEqual([plan.rate, plan.firewall, plan.namespaces], ['proxy', 'proxy', false]);
    assert.equal(qdisc(plan), undefined);
    assert.equal(plan.shortcomings.length, 2);
  });
});

test('generator, bandwidth and round trip are each a bottleneck below twice the load', () => {
  const fine = { rtt_ms: 40, up_mbit: 90, down_mbit: 90 };
  const demand = { rate: 200, connections: 64 };
  assert.deepEqual(bottlenecks(demand, 400, { lan: fine }), []);
  assert.match(
    String(bottlenecks(demand, 399, {})),
    /^the generator alone sends 399 .* lower --rate to 199$/,
  );
  assert.match(
    String(bottlenecks(demand, 400, { lan: { ...fine, down_mbit: 3.1 } })),
    /^the network lan carries 3\.1 Mbit\/s, and 3\.2 are wanted .* lower --rate to 193$/,
  );
  assert.match(
    String(bottlenecks(demand, 400, { lan: { ...fine, rtt_ms: 170 } })),
    /^over the network lan \(round trip 170\.0 ms\) 64 connections send 376 .* more --connections$/,
  );
});

test('the table has mean and spread of the sound runs of each cell, and counts the others', () => {
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
    { ...one, verdict: 'invalid', p50: 1000, missing: 2 },
  ];
  const [, first, second] = table(runs).split('\n');
  assert.match(String(first), /^single {4}lan {7}2\.00 ± 1\.41 +9\.00 ± 0\.00 +0\.500 ± 0\.000 +2 +2 of 3$/);
  assert.match(String(second), /^single {4}internet +41\.0 +9\.00 +0\.500 +0 +1 of 1$/);
  assert.match(line(runs[3] as Result), /p50 {3}1000 .* invalid, 2 messages missing$/);
});

test('a wrong flag or setting is told in one line, before anything starts', async () => {
  const wrong: [args: string[], message: RegExp][] = [
    [['--repeat', '0'], /^--repeat is "0"; allowed: whole numbers from 1 to 20$/],
    [['--rate', ''], /^--rate is ""; allowed: whole numbers from 1 to 100000$/],
    [['--networks', 'lan,wan'], /^--networks is "lan,wan"; allowed: lan, firewall, internet, with commas/],
    [['--by', 'magic'], /^--by is "magic"; allowed: auto, kernel, proxy$/],
    [['--speed', '9'], /^Unknown option '--speed'.*--help tells what is allowed$/],
  ];
  for (const [args, message] of wrong) assert.throws(() => readOptions(args), { message });
  const { stderr, exitCode } = await node([MAIN], { MQTT_URL: 'mqtt://there' });
  assert.match(stderr, /^MQTT_URL is set, and the matrix starts a pipeline of its own .*: leave it out$/);
  assert.equal(exitCode, 1);
});

test('a short matrix by proxy: a run for each network, and a page that compares them', async (t) => {
  await buildToxiproxy();
  const flags = '--by proxy --repeat 1 --duration 0.5 --rate 20 --topologies single --networks lan,internet';
  const { all, exitCode } = await node([MAIN, ...flags.split(' ')], { WARMUP: '0.1' });
  const said = String(all);
  const page = /^comparison {2}(\S+)$/m.exec(said)?.[1];
  assert.ok(page, said);
  const folder = dirname(join(ROOT, page));
  t.after(() => remove(folder));
  const { runs, alone, networks } = JSON.parse(await readFile(join(folder, 'matrix.json'), 'utf8'));
  for (const { dir } of runs) t.after(() => remove(join(ROOT, dir)));
  assert.deepEqual(
    runs.map(({ dir }: Result) => /^reports\/runs\/(\w+-\w+-\w+)-\d{8}T\d{6}Z$/.exec(dir)?.[1]),
    ['matrix-single-lan', 'matrix-single-internet'],
  );
  assert.equal(networks[1].made.network_delay, '20 ms each way (proxy)');
  // Nothing is faster than the delay that was asked for.
  assert.ok(alone.networks.internet.rtt_ms >= 40, said);
  const [lan, internet] = await Promise.all(runs.map(({ dir }: Result) => readRun(join(ROOT, dir))));
  assert.ok((internet?.latency.http.min ?? 0) >= 40, said);
  assert.ok((internet?.latency.stages.delivery.min ?? 0) >= 20, said);
  for (const run of [lan, internet]) {
    assert.ok(run && run.account.arrived === 12, said);
    assertPass(run, run.verdict.result === 'pass' ? 0 : 99);
  }
  assert.equal(exitCode, [lan, internet].every((run) => run?.verdict.result === 'pass') ? 0 : 99, said);
});

describe('network namespaces', () => {
  /** Connects from the generator's namespace: what became of it. */
  async function connection(lab: Lab, port: number, timeout = 30_000): Promise<string> {
    const script = `const s = require('net').connect({ host: '${PIPELINE}', port: ${port}, timeout: ${timeout} });
      for (const e of ['connect', 'error', 'timeout']) s.on(e, () => { console.log(e); s.destroy(); });`;
    const [command = '', ...args] = [...lab.within('generator'), process.execPath, '-e', script];
    return (await execa(command, args)).stdout;
  }

  test('the router lets through what it should, and nothing of it stays behind', async (t) => {
    const refusal = Lab.refusal();
    if (refusal !== null) return t.skip(refusal);
    let lab: Lab;
    try {
      lab = await Lab.open();
    } catch (error) {
      return t.skip((error as Error).message);
    }
    t.after(() => lab.close());
    if (lab.means.nftables !== null) return t.skip(lab.means.nftables);
    // A server in the pipeline's namespace, with two ports, of which the router knows one.
    const bare = join(ROOT, 'scenarios/matrix/baseline.ts');
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
    const { pids } = JSON.parse(lab.tell());
    await lab.close();
    for (const pid of Object.values(pids)) assert.throws(() => process.kill(pid as number, 0), /ESRCH/);
  });
});

test('servers that do nothing answer 202, and end', async () => {
  const bare = await Bare.start('127.0.0.1');
  const { status } = await fetch(`http://127.0.0.1:${bare.httpPort}/messages`, { method: 'POST', body: 'x' });
  assert.equal(status, 202);
  bare.stop();
  await assert.rejects(fetch(`http://127.0.0.1:${bare.httpPort}/`));
});
