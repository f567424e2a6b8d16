import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { execa } from 'execa';
import { onItsCpus, readAffinity } from './affinity.ts';

const LINUX = process.platform === 'linux';
const allowed = (status: string) => /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] as string;
const OURS = LINUX ? allowed(readFileSync('/proc/self/status', 'utf8')) : '';
const FIRST = Number.parseInt(OURS, 10);

test('a component runs on its CPUs, and by default on all', { skip: !LINUX }, async () => {
  const affinity = readAffinity(` ingest=${FIRST}  k6=${OURS} `);
  const cpusOf = async (component: string) => {
    const [program = '', ...args] = [...onItsCpus(affinity, component), 'cat', '/proc/self/status'];
    return allowed((await execa(program, args)).stdout);
  };
  assert.equal(await cpusOf('ingest'), String(FIRST));
  assert.equal(await cpusOf('k6'), OURS);
  assert.equal(await cpusOf('redis'), OURS);
});

test('without a setting no component is pinned', () => {
  for (const text of [undefined, '', ' ']) assert.deepEqual(onItsCpus(readAffinity(text), 'ingest'), []);
});

test('a wrong value is reported with what is allowed', { skip: !LINUX }, () => {
  const absent = 9999;
  const cases: [text: string, says: string][] = [
    ['ingest', 'of which "ingest" cannot be read; allowed: <component>=<CPUs>'],
    ['ingest:0', 'of which "ingest:0" cannot be read'],
    ['ingest-1=0', 'of which "ingest-1=0" cannot be read'],
    ['wrk=0', 'one of ingest, k6, mosquitto, nginx, redis, relay'],
    [`redis=${FIRST},`, `of which "redis=${FIRST}," cannot be read`],
    [`redis=${FIRST} redis=${FIRST}`, 'which has redis twice'],
    [`k6=${absent}`, `and there are no CPUs ${absent} here; allowed: those of ${OURS}`],
    [`k6=${FIRST}-${absent}`, `and there are no CPUs ${FIRST}-${absent} here`],
    [`k6=${absent}-${FIRST}`, `and there are no CPUs ${absent}-${FIRST} here`],
  ];
  for (const [text, says] of cases) {
    assert.throws(
      () => readAffinity(text),
      (error: Error) => {
        assert.equal(error.name, 'ConfigError');
        assert.ok(error.message.startsWith(`CPU_AFFINITY is ${JSON.stringify(text)}, `), error.message);
        assert.ok(error.message.includes(says), error.message);
        return true;
      },
    );
  }
});
