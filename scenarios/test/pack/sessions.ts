import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Run } from '../../../reports/contract/run.ts';
import { assertAllArrived, assertPass, brokenOf, listen, type Pipeline, ROOT } from '../harness.ts';

/** Scripts that send sessions of related requests. */
export function sessions(pipeline: Pipeline): void {
  test('sessions: opens SESSIONS connections a second and sends CALLS requests on each', async (t) => {
    const { seen, env } = await pipeline.gateway(t);
    const settings = { SESSIONS: 10, CALLS: 4, DURATION: 1, TIMEOUT: 4 };
    const { run, exitCode, text } = await pipeline.run('sessions.js', settings, { ...env, CANARY: 'off' });
    // A stalled machine begins fewer sessions, and the script reports it.
    if (!/dropped_iterations/.test(run.verdict.reasons.join())) assertPass(run, exitCode);
    assertAllArrived(run);
    const sessions = seen.requests.length / 4;
    assert.ok(Number.isInteger(sessions) && sessions > 0 && sessions <= 11, text);
    assert.equal(seen.connections, sessions, 'one connection per session');
    const [step, finish] = run.steps as [Run['steps'][0], Run['steps'][0]];
    assert.deepEqual([step.duration_s, finish.measured], [1, false], 'the step lasts while sessions begin');
    assert.deepEqual(run.figures, [
      { name: 'connection rate', value: sessions, unit: 'connections/s' },
      { name: 'request rate', value: step.requests, unit: 'requests/s' },
    ]);
    if (exitCode === 0) assert.ok(run.answer?.sentence.startsWith(`${sessions} sessions/s of 4 calls sent `));
  });

  test('phases: sessions log in, think, and send what they captured', async (t) => {
    const logins: string[] = [];
    const login = createServer((request, response) => {
      request.on('data', (chunk) => logins.push(String(chunk)));
      request.on('end', () => response.end(JSON.stringify({ token: 'the one of the login' })));
    });
    let hung = 0;
    const { seen, env } = await pipeline.gateway(t, (body) =>
      body.includes('"post/') && hung++ === 0 ? 'hang' : 'pass',
    );
    const { run, text } = await pipeline.run(
      'phases.js',
      {
        WARMUP_RATE: 10,
        WARMUP_DURATION: 1,
        RATE: 20,
        RAMP_DURATION: 1,
        SUSTAINED_DURATION: 1,
        THINK: 0.05,
        TIMEOUT: 4,
        P95: 60_000,
        LOGIN_URL: `http://${await listen(t, login)}/login`,
      },
      env,
    );
    assertAllArrived(run);
    assert.deepEqual(logins, ['{"user":"k6","password":""}']);
    const broken = brokenOf(run).filter((name) => name !== 'dropped_iterations'); // as above
    assert.deepEqual(broken, ['requests_failed', 'timeouts'], 'one request got no answer');
    assert.deepEqual(run.figures, [{ name: 'time-outs', value: 1, unit: 'requests' }]);
    assert.deepEqual(
      run.steps.map(({ name, duration_s, measured }) => [name, duration_s, measured]),
      [
        ['warm-up', 1, false],
        ['ramp', 1, true],
        ['sustained', 1, true],
        ['finish', 4.25, false],
      ],
    );

    const sent = seen.requests.flatMap(({ body, ...rest }) => {
      const { target, payload } = JSON.parse(body);
      return target.startsWith('canary') ? [] : { kind: target.split('/')[0], payload, ...rest };
    });
    assert.deepEqual(
      new Set(sent.map(({ authorization }) => authorization)),
      new Set(['Bearer the one of the login']),
    );
    const of = (kind: string, continued: boolean) =>
      sent.filter((one) => one.kind === kind && 'found' in one.payload === continued);
    const begun = [of('listing', false), of('item', false), of('post', false)];
    const sessions = begun.flat().length;
    const kinds = 'bbvbbpbvbb'.repeat(sessions).slice(0, sessions); // 7 : 2 : 1
    assert.deepEqual(
      begun.map(({ length }) => length),
      ['b', 'v', 'p'].map((kind) => kinds.split(kind).length - 1),
      text,
    );
    // Each session continues with what it found: a browser with an item, a viewer with the room.
    for (const [first, next] of [
      [begun[0], of('item', true)],
      [begun[1], of('room', true)],
    ] as const)
      assert.deepEqual(
        next.map(({ payload }) => payload.found).sort((a, b) => a - b),
        first?.map(({ accepted }) => accepted),
      );
    const csv = await readFile(join(ROOT, 'scenarios/data/posts.csv'), 'utf8');
    for (const { payload } of sent) {
      const { user, room, text } = payload;
      const row = `${user},${room},${text.includes(',') ? `"${text}"` : text}`;
      assert.ok(csv.split('\n').includes(row), row);
    }
  });
}
