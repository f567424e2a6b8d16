import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cp, mkdir, readFile, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { type FastifyInstance, fastify } from 'fastify';
import type { Run } from '../../contract/run.ts';
import { dataOf } from '../../render.ts';
import { golden } from '../../test/goldens.ts';
import { template } from '../../test/template.ts';
import { history } from '../app.ts';
import { tellBefore } from '../before.ts';
import { Catalogue } from '../catalogue.ts';
import type { Listing } from '../entry.ts';
import { listText } from '../text.ts';
import { Sparks } from '../timeline.ts';
import { grow, temporaryRuns, writeRun } from './runs.ts';

let root: string;
let app: FastifyInstance;
const errors: Error[] = [];
/** The data that a page holds, as JSON. */
const shown = (html: string) => JSON.stringify(dataOf(html));
before(async () => {
  root = await temporaryRuns();
  const passing = golden('passing');
  passing.run.labels = { build: '17' };
  await writeRun(root, 'one', passing);
  const failing = golden('failing');
  failing.run.started = '2026-11-21T10:00:00Z';
  await writeRun(root, 'two & three', failing);
  await mkdir(join(root, 'broken'));
  await writeFile(join(root, 'broken/run.json'), '{"schema":"arrival/run/1","run":{');
  await mkdir(join(root, 'no-run'));
  app = fastify({ forceCloseConnections: true });
  const pages = { list: '<p>list</p>', comparison: await template('comparison') };
  await app.register(history, {
    catalogue: new Catalogue(root),
    pages,
    onError: (error) => errors.push(error),
  });
});
after(async () => {
  await app.close();
  await rm(root, { recursive: true });
  assert.deepEqual(errors, []);
});

async function get(url: string, host = 'localhost') {
  return app.inject({ url, headers: { host } });
}
async function list(query = ''): Promise<Listing> {
  return (await get(`/api/runs${query}`)).json();
}

test('the list has verdict, figures and sparkline per run, newest first, and names broken runs', async () => {
  const { runs, total, labels, misfits } = await list();
  assert.deepEqual(
    runs.map(({ directory, verdict }) => [directory, verdict]),
    [
      ['two & three', 'fail'],
      ['one', 'pass'],
    ],
  );
  const { arrival } = golden('passing').latency;
  assert.deepEqual(runs[1]?.arrival, { p50: arrival.p50, p99: arrival.p99 });
  assert.ok((runs[1]?.spark.length ?? 0) > 20 && (runs[1]?.spark.length ?? 0) <= 60);
  assert.equal(total, 2);
  assert.deepEqual(labels, ['build: 17', 'build: relay-serial', 'ticket: 118']);
  assert.deepEqual(
    misfits.map(({ directory }) => directory),
    ['broken'],
  );
});

// Regression: the list said "lost 0" of a run that refused 61 % of its messages.
test('the list says what did not arrive, what decided a verdict, and what is in doubt', async (t) => {
  const late = golden('gap');
  late.facts.doubts = [{ claim: 'arrival', direction: 'too_high', by: ['lateness'], text: 'it was late' }];
  const all = { refusing: golden('refusing'), gap: late, unbalanced: golden('unbalanced') };
  const directories = await Promise.all(Object.entries(all).map(([name, run]) => writeRun(root, name, run)));
  t.after(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true }))));
  const { runs, misfits, matching } = await list();
  const of = (name: string) => runs.find(({ directory }) => directory === name);
  assert.deepEqual(of('refusing')?.missed?.text, '88 % rejected');
  assert.match(of('refusing')?.meaning ?? '', /messages were rejected/);
  assert.equal(of('one')?.missed, null);
  const gap = of('gap');
  assert.deepEqual([gap?.verdict, gap?.undecided, gap?.doubt], ['invalid', true, 'too_high']);
  assert.match(gap?.meaning ?? '', /^undecided: .*arrival p99/);
  assert.equal(of('unbalanced')?.undecided, false, 'nothing of it can be used');
  assert.equal((await list('?state=undecided')).matching, 1);
  assert.ok(matching >= 3);
  const { entries } = await new Catalogue(root).list();
  const text = listText(entries, misfits, '');
  assert.match(text, /^fail +p99 [\d.,]+ ms +88 % rejected +refusing/m);
  assert.match(text, /^undecided +p99 ≤ 818 ms +gap$/m);
});

test('a run.json without what is always written is listed with its fault', async (t) => {
  const { facts: _, ...run } = golden('refusing');
  const directory = await writeRun(root, 'lacking', run as Run);
  t.after(() => rm(directory, { recursive: true }));
  const found = (await list()).misfits.find((one) => one.directory === 'lacking');
  assert.match(found?.error ?? '', /^run\.json: facts: [^\n]*$/);
});

test('a sparkline is read again only after its timeline has changed', async () => {
  const directory = join(root, 'sparks');
  await mkdir(directory);
  const path = join(directory, 'timeline.ndjson');
  const write = async (p99: number, at: number) => {
    const second = golden('passing').timeline.find(({ arrival }) => arrival !== null);
    const arrival = { ...second?.arrival, p99 };
    await writeFile(path, `${JSON.stringify({ ...second, t: 0, arrival })}\n`);
    await utimes(path, at, at);
  };
  const sparks = new Sparks();
  await write(7, 1_000_000);
  assert.deepEqual(await sparks.of([directory]), [[7]]);
  await write(8, 1_000_000);
  assert.deepEqual(await sparks.of([directory]), [[7]], 'same time and size: not read');
  await write(9, 2_000_000);
  const many = Array.from({ length: 9 }, () => directory);
  assert.deepEqual(await sparks.of([...many, join(root, 'no-run')]), [...many.map(() => [9]), []]);

  // Regression: of a run of more than some hours it showed the beginning.
  const line = await readFile(path, 'utf8');
  const long = Math.ceil(17e6 / line.length);
  await writeFile(path, line.repeat(long) + line.replace('"p99":9', '"p99":99'));
  const [points] = await sparks.of([directory]);
  assert.deepEqual([points?.[0], points?.at(-1)], [9, 99]);
  await rm(directory, { recursive: true });
});

test('the list shows load, settings, queue, relay mode, branch, commit and CI job', async () => {
  const run = golden('real');
  run.run.command =
    "QUEUE=stream REDIS_PORT=0 npm run smoke -- -e RATE=50 -e P99=0.1 -e 'SALT=a b' -e LABELS=build=17";
  run.environment.git = { commit: '0123456789abcdef', branch: 'topic', dirty: true };
  run.environment.ci = { name: 'Jenkins', job: 'load #7', url: 'https://ci.example.com/job/load/7/' };
  const directory = await writeRun(root, 'real', run);
  const { runs } = await list('?text=pipelined%20load%20%237');
  assert.deepEqual(
    runs.map(({ load, conditions }) => [load, ...conditions]),
    [
      [
        '50 requests/s',
        'QUEUE=stream',
        'P99=0.1',
        'SALT=a b',
        'stream',
        'pipelined',
        'topic',
        '01234567',
        'uncommitted changes',
      ],
    ],
  );
  assert.deepEqual(runs[0]?.job, { name: 'Jenkins: load #7', url: 'https://ci.example.com/job/load/7/' });
  run.environment.ci.url = 'javascript:alert(1)';
  await writeFile(join(directory, 'run.json'), JSON.stringify(run));
  const { misfits } = await list();
  assert.match(
    misfits.find((one) => one.directory === 'real')?.error ?? '',
    /environment\.ci\.url: must match/,
  );
  const [older] = (await list('?text=two')).runs;
  assert.deepEqual(
    [older?.load, older?.conditions, older?.job],
    ['1,500 requests/s', [], null],
    'an older run',
  );
  await rm(directory, { recursive: true });
});

test('the list filters by text, label, verdict and script, sorts and pages', async () => {
  const names = async (query: string) => (await list(query)).runs.map(({ directory }) => directory);
  assert.deepEqual(await names('?text=RAMP+fail'), ['two & three']);
  assert.deepEqual(await names('?text=serial'), ['two & three']);
  assert.deepEqual(await names('?text=nothing'), []);
  assert.deepEqual(await names(`?label=${encodeURIComponent('build: 17')}`), ['one']);
  assert.deepEqual(await names('?state=pass'), ['one']);
  assert.deepEqual(await names('?script=smoke'), []);
  assert.deepEqual(await names('?script=ramp&sort=p99&ascending=true'), ['one', 'two & three']);
  assert.equal((await get('/api/runs?sort=directory')).statusCode, 400);
  assert.deepEqual(await names('?limit=1&offset=1'), ['one']);
  assert.equal((await get('/api/runs?limit=100000')).statusCode, 400);
});

test('a listed run has its reason, its limit and a point in the trend of its script', async () => {
  const { runs, scripts, trend } = await list('?state=fail');
  const [{ reason, limit, change } = {}] = runs;
  assert.deepEqual([limit, change], [250, null]);
  assert.equal(reason, golden('failing').verdict.reasons[0]);
  assert.deepEqual(scripts, ['ramp']);
  assert.deepEqual(
    [trend.script, ...trend.points.map(({ directory, limit }) => `${directory}: ${limit}`)],
    ['ramp', 'two & three: 250'],
  );
});

test('the list names each malformed run with its fault and keeps the others', async () => {
  const damages: Record<string, [(run: ReturnType<typeof golden>) => void, string]> = {
    'no labels': [
      ({ run }) => delete (run as Partial<typeof run>).labels,
      'run.json: run: labels is missing',
    ],
    'no tool': [
      ({ run }) => Object.assign(run, { tool: null }),
      'run.json: run.tool: must be object, not null',
    ],
    'no account': [
      (run) => Object.assign(run, { account: null }),
      'run.json: account: must be object, not null',
    ],
    'no figures': [
      ({ latency }) => Object.assign(latency, { arrival: 7 }),
      'run.json: latency.arrival: must be object, not 7',
    ],
  };
  const lines = join(root, 'lines');
  try {
    for (const [name, [damage]] of Object.entries(damages)) {
      const run = golden('passing');
      damage(run);
      await writeRun(root, name, run);
    }
    const [first, second] = golden('passing').timeline;
    await writeRun(root, 'lines', golden('passing'));
    const rows = [first, {}, null, 7, { ...second, arrival: {} }, second];
    await writeFile(join(lines, 'timeline.ndjson'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const { runs, misfits } = await list();
    assert.deepEqual(runs.map(({ directory }) => directory).sort(), ['lines', 'one', 'two & three']);
    assert.equal(runs.find(({ directory }) => directory === 'lines')?.spark.length, 2);
    for (const [name, [, fault]] of Object.entries(damages)) {
      assert.equal(misfits.find(({ directory }) => directory === name)?.error, fault);
    }
    assert.equal((await get('/compare?run=one&run=no%20labels')).statusCode, 404);
  } finally {
    for (const name of [...Object.keys(damages), 'lines']) await rm(join(root, name), { recursive: true });
  }
});

test('every offered label works as a filter', async () => {
  const run = golden('passing');
  run.run.labels = { long: 'ü'.repeat(494), longer: 'ü'.repeat(5000) };
  const directory = await writeRun(root, 'labelled', run);
  const { labels } = await list();
  assert.ok(labels.includes(`long: ${'ü'.repeat(494)}`));
  for (const label of labels) {
    const { statusCode, body } = await get(`/api/runs?label=${encodeURIComponent(label)}`);
    assert.equal(statusCode, 200);
    assert.ok(JSON.parse(body).matching > 0, label);
  }
  await rm(directory, { recursive: true });
});

test('a changed run is read again', async () => {
  const run = golden('passing');
  Object.assign(run.verdict, { result: 'invalid', reasons: [] });
  const directory = await writeRun(root, 'changing', run);
  const verdict = async () => (await list()).runs.find((one) => one.directory === 'changing')?.verdict;
  assert.equal(await verdict(), 'invalid');
  run.verdict.result = 'incomplete';
  await writeFile(join(directory, 'run.json'), JSON.stringify(run));
  assert.equal(await verdict(), 'incomplete');
  await rm(directory, { recursive: true });
  assert.equal(await verdict(), undefined);
});

test('files of a run are served with their content type and in a sandbox', async () => {
  const page = await get('/runs/one/index.html');
  assert.equal(page.statusCode, 200);
  assert.match(page.body, /<p>report<\/p>$/);
  assert.match(String(page.headers['content-security-policy']), /^sandbox allow-scripts/);
  assert.equal(page.headers['x-content-type-options'], 'nosniff');
  assert.match(String((await get('/runs/one/run.json')).headers['content-type']), /^application\/json/);
  for (const end of ['', '/'])
    assert.equal(
      (await get(`/runs/two%20%26%20three${end}`)).headers.location,
      '/runs/two%20%26%20three/index.html',
    );
  assert.equal((await get('/runs/one/arrival.hlog')).statusCode, 404);
});

test('no file outside the runs directory can be read', async () => {
  const outside = await temporaryRuns();
  // A symlink or a pipe counts as a missing file: it is neither followed nor waited for.
  await writeFile(join(outside, 'log'), 'secret');
  for (const name of ['hlog', 'pipe']) await cp(join(root, 'one'), join(root, name), { recursive: true });
  await symlink(join(outside, 'log'), join(root, 'hlog/arrival.hlog'));
  execFileSync('mkfifo', [join(root, 'pipe/arrival.hlog')]);
  await writeRun(outside, 'secret', golden('passing'));
  await writeFile(`${root}-secret`, 'secret');
  await cp(join(root, 'one'), join(root, 'linked'), { recursive: true });
  await rm(join(root, 'linked/index.html'));
  await symlink(join(outside, 'secret/index.html'), join(root, 'linked/index.html'));
  await symlink(join(outside, 'secret'), join(root, 'link'));
  await mkdir(join(root, 'head'));
  await symlink(join(outside, 'secret/run.json'), join(root, 'head/run.json'));
  try {
    for (const url of [
      ...[
        '/runs/../one/run.json',
        '/runs/%2e%2e/run.json',
        '/runs/..%2f..%2fetc/run.json',
        '/runs/one/..%2frun.json',
      ],
      ...[`/runs/one/%2e%2e%2f%2e%2e%2f${basename(root)}-secret`, `/runs/one/../../${basename(root)}-secret`],
      ...[
        '/runs//etc/passwd',
        '/runs/one/%2fetc%2fpasswd',
        '/runs/%00/run.json',
        '/runs/one/run.json%00.html',
      ],
      ...['/runs/./run.json', '/runs/one/__proto__', '/runs/one/constructor', '/runs/one/run.json/'],
      ...['/runs/linked/index.html', '/runs/link/run.json', '/runs/link/index.html', '/runs/head/run.json'],
      ...['/live/link', '/api/runs/link/live', '/api/runs/%2e%2e/live', '/compare?run=one&run=link'],
      ...[
        '/compare?run=one&run=..',
        `/compare?run=one&run=${encodeURIComponent(outside)}/secret`,
        `/runs/${'x'.repeat(5000)}`,
      ],
    ]) {
      const { statusCode, body } = await get(url);
      assert.ok(statusCode >= 400 && statusCode < 500, `${url}: ${statusCode}`);
      assert.doesNotMatch(body, /secret|root:/);
    }
    for (const name of ['hlog', 'pipe']) {
      const { statusCode, body } = await get(`/compare?run=one&run=${name}`);
      assert.equal(statusCode, 200, body.slice(0, 200));
      assert.doesNotMatch(shown(body), /secret/);
    }
    const { runs } = await list();
    assert.ok(!runs.some(({ directory }) => directory === 'link' || directory === 'head'));
  } finally {
    for (const name of ['hlog', 'pipe', 'linked', 'link', 'head', `../${basename(root)}-secret`]) {
      await rm(join(root, name), { recursive: true });
    }
    await rm(outside, { recursive: true });
  }
});

test('the server refuses methods other than GET and HEAD, and foreign host names', async () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const) {
    const { statusCode, headers } = await app.inject({ method, url: '/', headers: { host: 'localhost' } });
    assert.deepEqual([method, statusCode, headers.allow], [method, 405, 'GET, HEAD']);
  }
  assert.equal((await get('/', 'rebound.example:8022')).statusCode, 403);
  for (const host of ['127.0.0.1:8022', 'localhost', '[::1]:1'])
    assert.equal((await get('/', host)).statusCode, 200);
});

test('a comparison is served, or the reason why there is none', async () => {
  const { statusCode, body } = await get('/compare?run=one&run=two%20%26%20three&allow-failed=true');
  assert.equal(statusCode, 200);
  assert.match(shown(body), /"schema":"arrival\/comparison\/2"/);
  const one = await get('/compare?run=one');
  assert.equal(one.statusCode, 400);
  assert.equal((await get('/compare?run=one&run=nothing')).statusCode, 404);
  const damaged = golden('passing');
  delete (damaged as Partial<typeof damaged>).errors;
  const directory = await writeRun(root, 'damaged', damaged);
  const { statusCode: status, body: why } = await get('/compare?run=one&run=damaged');
  assert.equal(status, 422);
  assert.equal(why, 'these runs cannot be compared: damaged/run.json: errors is missing\n');
  await rm(directory, { recursive: true });
});

test('runs with failed messages are compared once the reader allows it', async () => {
  const run = golden('refusing');
  run.run.name = '<b>refusing';
  const directory = await writeRun(root, 'refusing', run);
  const refused = await get('/compare?run=one&run=refusing');
  assert.equal(refused.statusCode, 422);
  assert.match(
    refused.body,
    /<li>&#60;b&#62;refusing: 89,300 scheduled = 78,751 rejected \+ 10,549 arrived<\/li>/,
  );
  const link = refused.body.match(/<a href="(\/compare[^"]+)">/)?.[1]?.replaceAll('&#38;', '&');
  assert.equal(link, '/compare?run=one&run=refusing&allow-failed=true');
  const { statusCode, body } = await get(link as string);
  assert.equal(statusCode, 200);
  assert.match(shown(body), /"failed":"78,751 rejected"/);
  await rm(directory, { recursive: true });
});

test('a page gets the change in front of its data, wherever its file is cut, and stays the same otherwise', async () => {
  const change = { from: 'a<b', p99: 0.5, differs: [] };
  const rest = '<script id="run" type="application/json">"ä\u2028"</script>';
  const shownOf = async (chunks: Buffer[]) => {
    const shown = [];
    for await (const chunk of tellBefore(Readable.from(chunks), change, 'c')) shown.push(chunk);
    return Buffer.concat(shown).toString();
  };
  const html = Buffer.from(`<p>ü</p>${rest}`);
  const told = '<script id="before" type="application/json">{"name":"a\\u003cb",';
  for (let at = 0; at <= html.length; at++) {
    const text = await shownOf([html.subarray(0, at), html.subarray(at)]);
    assert.ok(
      text.startsWith(`<p>ü</p>${told}`) && text.endsWith(`</script>${rest}`),
      `cut at ${at}: ${text}`,
    );
  }
  assert.equal(await shownOf([Buffer.from('<p>ü</p><script id="ru')]), '<p>ü</p><script id="ru');
});

test('the live stream sends each second of a run as it is written, then its end', async () => {
  const run = golden('passing');
  const seconds = run.timeline.slice(0, 4).map((second) => `${JSON.stringify(second)}\n`);
  run.run.ended = null;
  const directory = await writeRun(root, 'live', run);
  await truncate(join(directory, 'timeline.ndjson'));
  await grow(directory, (seconds[0] as string) + (seconds[1] as string).slice(0, 40));
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  assert.equal((await list()).runs.find((one) => one.directory === 'live')?.live, true);

  const answer = await fetch(`${address}/api/runs/live/live`);
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  const until = async (wanted: RegExp) => {
    while (!wanted.test(text)) {
      const { value, done } = await reader.read();
      assert.ok(!done, `the stream ended after ${text}`);
      text += decoder.decode(value, { stream: true });
    }
  };
  await until(/^event: plan\ndata: {"planned":50,"limit":250}\n\n.*"t":0.*\n\n/s);
  assert.doesNotMatch(text, /"t":1/);
  await grow(directory, (seconds[1] as string).slice(40) + seconds[2]);
  await until(/"t":1.*"t":2.*\n\n/);
  await grow(directory, seconds[3] as string);
  run.run.ended = '2026-11-21T09:48:51Z';
  await writeFile(join(directory, 'run.json'), JSON.stringify(run));
  await until(/"t":3.*\n\nevent: end\ndata: {"verdict":"pass","reason":""}\n/s);
  assert.equal((await reader.read()).done, true);
  await rm(directory, { recursive: true });
});

test('a run whose phase ends by its requests is not planned for the hour that it may take', async () => {
  const run = golden('closed');
  for (const phase of run.run.profile.phases) Object.assign(phase, { duration_s: 3600, requests: 50_000 });
  const directory = await writeRun(root, 'by-requests', run);
  const { runs } = await list();
  assert.equal(runs.find((one) => one.directory === 'by-requests')?.planned, null);
  await rm(directory, { recursive: true });
});

test('the list shows each instance of a run in progress, or the whole run once merged', async () => {
  const part = golden('passing');
  part.run.ended = null;
  const generator = { of: 2, segment: '0:1/2', sequence: '0,1/2,1', start_us: 1_795_317_447_755_881 };
  const whole = join(root, 'several');
  await mkdir(whole);
  for (const number of [1, 2]) {
    part.run.generator = { number, late_ms: 0, ...generator };
    await grow(await writeRun(whole, `generator-${number}`, part), '');
  }
  await writeRun(whole, 'other', part);
  await symlink(join(root, 'one'), join(whole, 'generator-3'));
  const several = async () => {
    const runs = (await list()).runs.filter(({ directory }) => directory.startsWith('several'));
    return runs.map((run) => [run.directory, run.live, run.generator, run.spark.length > 0]);
  };
  assert.deepEqual(await several(), [
    ['several/generator-2', true, { number: 2, of: 2 }, true],
    ['several/generator-1', true, { number: 1, of: 2 }, true],
  ]);
  assert.equal((await get('/live/several%2Fgenerator-1')).statusCode, 200);
  assert.equal((await get('/runs/several%2Fgenerator-1/index.html')).statusCode, 200);
  for (const none of [
    'several',
    'several/other',
    'several/generator-3',
    'several/generator-1/..',
    'one/..',
  ]) {
    assert.equal((await get(`/runs/${encodeURIComponent(none)}/run.json`)).statusCode, 404, none);
  }
  await writeFile(join(whole, 'run.json'), JSON.stringify(golden('passing')));
  assert.deepEqual(await several(), [['several', false, null, false]]);
  // A reader of a part still gets its end and its report.
  assert.equal((await get('/runs/several%2Fgenerator-1/index.html')).statusCode, 200);
  await rm(whole, { recursive: true });
});

test('a run that was killed is not in progress', async () => {
  const run = golden('incomplete');
  const directory = await writeRun(root, 'killed', run);
  const before = new Date(Date.now() - 60_000);
  await utimes(join(directory, 'timeline.ndjson'), before, before);
  assert.equal((await list()).runs.find((one) => one.directory === 'killed')?.live, false);
  assert.match((await get('/api/runs/killed/live')).body, /event: end\n/);
  await rm(directory, { recursive: true });
});
