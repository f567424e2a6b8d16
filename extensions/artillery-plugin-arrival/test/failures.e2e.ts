/** Every way in which a request fails in Artillery, during a load. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { after, before, describe, type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { parse, stringify } from 'yaml';
import { makeCertificates } from '../../../pipeline/stack/certificates.ts';
import { listen, node, Pipeline, ROOT, readRun } from '../../../scenarios/test/harness.ts';

const MAIN = 'scenarios/run/artillery.ts';
const RAMP = join(ROOT, 'scenarios/ramp.artillery.yml');
const TIMEOUT = 2; // s

const coded = (answer: ServerResponse, body: Buffer) =>
  answer.writeHead(202, { 'content-encoding': 'gzip', 'content-length': body.length }).end(body);

/** A fate is what a server does with a request, and the class that the report gives it; null: it counts as accepted. */
const FATES: [fate: (answer: ServerResponse) => void, name: RegExp | null][] = [
  [({ socket }) => socket?.resetAndDestroy(), /^reset$/],
  [({ socket }) => socket?.destroy(), /^closed$/],
  [({ socket }) => socket?.end('no HTTP\r\n\r\n'), /^failed$/],
  [(answer) => answer.writeHead(503).end('{}'), /^HTTP 503$/],
  [(answer) => answer.writeHead(304).end(), /^HTTP 304$/],
  [(answer) => answer.writeHead(302).end(), /^HTTP 302$/],
  [(answer) => answer.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(), /refused$/],
  [(answer) => answer.writeHead(307, { location: 'http://nowhere.invalid/' }).end(), /name not resolved$/],
  [(answer) => answer.writeHead(307, { location: '/messages' }).end(), /^failed$/], // for ever
  [
    (answer) => {
      answer.writeHead(202, { 'content-length': 100 }).write('{');
      setTimeout(() => answer.socket?.resetAndDestroy(), 50);
    },
    /^(reset|closed)$/,
  ],
  // An answer in a coding that it does not have: cut short, and none at all.
  [(answer) => coded(answer, gzipSync('{"accepted":1}'.repeat(100)).subarray(0, 30)), null],
  [(answer) => coded(answer, Buffer.from('{"accepted":1}')), null],
  [() => {}, /^timeout$/], // no answer
  [(answer) => answer.writeHead(202, { 'content-length': 100 }).write('{'), /^timeout$/], // half of one
  [
    (answer) => {
      answer.writeHead(202).write('{');
      const drip = setInterval(() => answer.write(' '), 100);
      answer.once('close', () => clearInterval(drip));
    },
    /^timeout$/,
  ],
  [({ socket }) => socket?.write('HTTP/1.1 103 Early Hints\r\n\r\n'), /^timeout$/], // nothing else
  [({ socket }) => socket?.end('HTTP/1.1 103 Early Hints\r\n\r\n'), /^closed$/],
  // Regression: the run never ended.
  [
    ({ socket }) =>
      socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n'),
    /^HTTP 101$/,
  ],
  [
    ({ socket }) => socket?.write('HTTP/1.1 202 A\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\nzz\r\n'),
    /^failed$/,
  ],
  [({ socket }) => socket?.write(`HTTP/1.1 202 A\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`), /^failed$/],
  [({ socket }) => socket?.end('HTTP/1.1 202 A\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 202 A\r\n'), null],
  [
    (answer) =>
      answer
        .writeHead(202, { 'set-cookie': ['=; domain=other.example', 'a=b; domain=other.example; path=/'] })
        .end('{}'),
    null,
  ],
  [(answer) => answer.writeHead(307, { location: 'http://[' }).end(), /^failed$/],
  [(answer) => answer.writeHead(307, { location: 'ftp://127.0.0.1/' }).end(), /^failed$/],
  [(answer) => answer.writeHead(302, { location: '/elsewhere' }).end(), /^failed$/],
  // Regression: one of these ended the recording of all.
  [(answer) => answer.writeHead(999).end(), /^failed$/],
  [(answer) => answer.writeHead(202, { 'content-encoding': 'zstd' }).end('{}'), null],
];

/** A test changes this in a script and its environment. */
interface Changes {
  env?: NodeJS.ProcessEnv;
  /** Options of the plugin. */
  arrival?: object;
  /** JavaScript: an object with functions. */
  processor?: string;
  scenarios?: object[];
}

// Each run starts Artillery and waits for its time-outs: several at once.
describe('a request of Artillery that fails', { concurrency: 4 }, () => {
  let pipeline: Pipeline;
  before(async () => {
    pipeline = await Pipeline.start();
  });
  after(() => pipeline.stop());

  /** Runs so many requests with ramp.artillery.yml, with these changes. */
  async function run(name: string, requests: number, changes: Changes) {
    const place = pipeline.env.STACK_DIR as string;
    const profile = join(place, `${name}.profile.yml`);
    await writeFile(
      profile,
      stringify({ phases: [{ duration: 1, arrivalRate: 1 }], flows: [{ name: 'direct' }] }),
    );
    const { config, scenarios } = parse(await readFile(RAMP, 'utf8'));
    config.http = { timeout: TIMEOUT };
    config.phases = [{ name: 'load', duration: 1, arrivalCount: requests }];
    config.plugins.arrival = { profile, idle: 1, drain: 5, ...changes.arrival };
    if (changes.processor !== undefined) {
      config.processor = join(place, `${name}.cjs`);
      await writeFile(config.processor, `module.exports = ${changes.processor};`);
    }
    const file = join(place, `${name}.yml`);
    await writeFile(file, stringify({ config, scenarios: changes.scenarios ?? scenarios }));
    const dir = join(place, name);
    const { exitCode, all } = await node([MAIN, file], { ...pipeline.env, ...changes.env, RUN_DIR: dir });
    const text = String(all);
    const result = await readRun(dir, text);
    assert.ok(result.account.balanced, text);
    return { exitCode, text, result };
  }

  /** Passes the greeting, the canary and every third message on; the others have this fate. */
  function handler(fate: (answer: ServerResponse) => void) {
    const { ingest } = pipeline.stack.file;
    let passed = 0;
    const handle = async (request: IncomingMessage, answer: ServerResponse) => {
      const body = await textOf(request);
      const canary = body.includes('.canary.');
      const seq = /"id":"\w+\.\w+\.(\d+)"/.exec(body)?.[1];
      if (!canary && (seq === undefined || Number(seq) % 3 !== 0)) return fate(answer);
      if (!canary) passed++;
      const { authorization = '', 'content-type': type = '' } = request.headers;
      const sent = await fetch(ingest.url + request.url, {
        method: 'POST',
        headers: { authorization, 'content-type': type },
        body,
      });
      answer.writeHead(sent.status).end(await sent.text());
    };
    return { handle, passed: () => passed };
  }

  /** Starts an ingest with such a handler, until the test ends. */
  async function failing(t: TestContext, fate: (answer: ServerResponse) => void) {
    const { handle, passed } = handler(fate);
    const env = { ...pipeline.own, INGEST_URL: `http://${await listen(t, createServer(handle))}` };
    return { env, passed };
  }

  // Regression: got's promise forwards no `error`, so Artillery emits no trace:http:error. A virtual user whose message had passed
  // waited for the others, and the run never ended.
  for (const [i, [fate, name]] of FATES.entries()) {
    test(`fate ${i + 1} is settled with its class: ${name?.source ?? 'accepted'}`, async (t) => {
      const { env, passed } = await failing(t, fate);
      const { exitCode, text, result } = await run(`fate-${i + 1}`, 6, { env });
      assert.equal(result.account.requests.sent, 6, text);
      assert.equal(passed(), 2, text);
      assert.equal(result.account.arrived, 2, text);
      assert.notEqual(exitCode, 0);
      if (name === null) return assert.deepEqual(result.errors, [], text);
      assert.equal(result.errors.length, 1, text);
      assert.match(String(result.errors[0]?.class), name, text);
      assert.equal(result.errors[0]?.count, 4, text);
    });
  }

  test('a certificate that Artillery does not trust is a failure of TLS', async (t) => {
    const certificates = [];
    for (const place of ['trusted', 'strange']) {
      const { ca, of } = await makeCertificates(join(pipeline.env.STACK_DIR as string, place), ['ingest']);
      certificates.push({ ca, cert: await readFile(of.ingest.cert), key: await readFile(of.ingest.key) });
    }
    const [{ ca = '', ...trusted } = {}, { ca: _, ...strange } = {}] = certificates;
    const { handle, passed } = handler((answer) => answer.writeHead(503).end());
    const server = createSecureServer(trusted, handle);
    let connections = 0;
    // Before TLS begins on the connection.
    server.prependListener('connection', () =>
      server.setSecureContext(connections++ % 3 === 0 ? trusted : strange),
    );
    const env = { ...pipeline.own, INGEST_URL: `https://${await listen(t, server)}`, TLS_CA: ca };
    const { exitCode, text, result } = await run('tls', 9, { env, arrival: { canary: false } });
    const tls = result.errors.find(({ class: name }) => name.includes('TLS'));
    assert.ok(tls !== undefined && tls.count > 0, text);
    assert.match(tls.example ?? '', /verify|certificate/);
    assert.ok(result.account.requests.sent === 9 && passed() <= 3, text);
    assert.notEqual(exitCode, 0);
  });

  test('a capture that fails, and hooks that fail, leave what was answered as it is', async () => {
    const { text, result } = await run('captures', 6, {
      processor: `{ fails: (params, answer, context, events, next) => next(new Error('after')) }`,
      scenarios: [
        { flow: [{ post: { url: '/messages', capture: { json: '$.none', as: 'none' } } }] },
        { flow: [{ post: { url: '/messages', afterResponse: 'fails' } }] },
      ],
    });
    assert.equal(result.account.arrived, 6, text);
    assert.deepEqual(result.errors, [], text);
  });

  // Regression: the error of the decoder ended Artillery's thread.
  for (const [name, reads] of Object.entries({
    capture: { capture: { json: '$.accepted', as: 'accepted' } },
    match: { match: { json: '$.accepted', value: 1 } },
    afterResponse: { afterResponse: 'sees' },
  })) {
    test(`an answer in a coding that it does not have, and that ${name} reads, is settled`, async (t) => {
      const codings = [gzipSync('{"accepted":1}'.repeat(100)).subarray(0, 30), Buffer.from('{"accepted":1}')];
      let nth = 0;
      const { env, passed } = await failing(t, (answer) => coded(answer, codings[nth++ % 2] as Buffer));
      const { text, result } = await run(`coded-${name}`, 6, {
        env,
        processor: '{ sees: (params, answer, context, events, next) => next() }',
        scenarios: [{ flow: [{ post: { url: '/messages', ...reads } }] }],
      });
      assert.equal(result.account.requests.sent, 6, text);
      assert.equal(passed(), 2, text);
      assert.equal(result.account.arrived, 2, text);
      assert.equal((result.account.requests.failed ?? 0) + result.account.lost, 4, text);
    });
  }

  // Regression: a hook that threw ended Artillery's thread, and one that never called back kept the run for ever.
  for (const hook of ['() => {}', "() => { throw new Error('late') }", 'async () => {}']) {
    test(`hooks after the request that are ${hook} end a virtual user, not the run`, async (t) => {
      const name = `after-${hook.replaceAll(/\W/g, '')}`;
      const { env } = await failing(t, ({ socket }) => socket?.destroy());
      const post = { url: '/messages' };
      const { exitCode, text, result } = await run(name, 9, {
        env,
        processor: `{ mine: ${hook} }`,
        scenarios: [
          { afterResponse: 'mine', onError: 'mine', flow: [{ post }] },
          { onError: 'mine', flow: [{ post: { ...post, afterResponse: ['mine'] } }] },
          { afterScenario: 'mine', onError: 'mine', flow: [{ post }] },
        ],
      });
      assert.equal(result.account.requests.sent, 9, text);
      assert.equal(result.account.arrived, 3, text);
      assert.deepEqual(
        result.errors.map(({ class: what, count }) => [what, count]),
        [['closed', 6]],
      );
      assert.doesNotMatch(text, /worker error/);
      assert.equal(exitCode, 99, text);
    });
  }

  // Regression: one that threw or rejected ended Artillery's thread. One that never called back, or returned its answer, kept the run.
  test('conditions of loops that fail end a virtual user, not the run', async () => {
    const profile = join(pipeline.env.STACK_DIR as string, 'closed.profile.yml');
    await writeFile(
      profile,
      stringify({ phases: [{ name: 'load', duration: 4, vus: 4 }], flows: [{ name: 'direct' }] }),
    );
    const { text, result } = await run('loops', 40, {
      arrival: { profile },
      processor: `{
        silent: () => {},
        throws: () => { throw new Error('too early') },
        rejects: async () => { throw new Error('too late') },
        twice: async ({ vars }) => vars.$loopCount < 2,
      }`,
      scenarios: ['silent', 'throws', 'rejects', 'twice'].map((whileTrue) => ({
        name: whileTrue,
        flow: [{ loop: [{ post: { url: '/messages' } }], whileTrue }],
      })),
    });
    // A period of Artillery's may end between two errors.
    const summary = text.slice(text.lastIndexOf('Summary report'));
    const counted = (metric: string) => Number(new RegExp(`${metric}: \\.+ (\\d+)`).exec(summary)?.[1] ?? 0);
    const of = (name: string) => counted(`vusers.created_by_name.${name}`);
    assert.doesNotMatch(text, /worker error/);
    assert.equal(result.account.requests.sent, 40 + of('twice'), text);
    assert.equal(counted('errors.too early'), of('throws'), text);
    assert.equal(counted('errors.too late'), of('rejects'), text);
    assert.equal(counted('errors.it did not call back within 30 s'), of('silent'), text);
  });

  test('a hook that the processor does not have is refused in one line', async () => {
    const processor = join(pipeline.env.STACK_DIR as string, 'misspelt.cjs');
    await writeFile(processor, 'module.exports = { signs: (params, context, events, next) => next() };');
    const script = parse(await readFile(RAMP, 'utf8'));
    script.config.processor = processor;
    script.config.plugins.arrival.profile = join(ROOT, 'scenarios/profiles/ramp.yml');
    script.scenarios[0].flow[0].post.afterResponse = 'sings';
    const file = join(pipeline.env.STACK_DIR as string, 'misspelt.yml');
    await writeFile(file, stringify(script));
    const dir = join(pipeline.env.STACK_DIR as string, 'misspelt');
    const { exitCode, all } = await node([MAIN, file], { ...pipeline.env, RUN_DIR: dir });
    assert.equal(existsSync(dir), false, 'no directory of a run that has not begun');
    assert.match(
      String(all),
      /^arrival: afterResponse is sings, which config\.processor does not have, signs is; allowed: signs$/m,
    );
    assert.equal(exitCode, 1);
  });

  const HOOKS: Record<string, [hook: string, says: RegExp]> = {
    'that fails': [
      `(params, context, events, next) => next(new Error('no key'))`,
      /the hook mine failed: no key/,
    ],
    'that throws': [`() => { throw new Error('no key') }`, /the hook mine failed: no key/],
    'that rejects': [`async () => { throw new Error('no key') }`, /the hook mine failed: no key/],
    'that sets another url': [
      `async (params) => { params.url = 'http://127.0.0.1:1/' }`,
      /a hook set the url/,
    ],
    'that sets the id': [`async (params) => { params.json = { id: 7 } }`, /a hook set json with id/],
  };
  for (const [name, [hook, says]] of Object.entries(HOOKS)) {
    for (const owner of ['post', 'scenario'] as const) {
      test(`a hook of the ${owner} ${name} is the cause that the report names`, async () => {
        const place = `${owner}-${name.replaceAll(' ', '-')}`;
        const mine = { beforeRequest: 'mine' };
        const flow = [{ post: { url: '/messages', ...(owner === 'post' && mine) } }];
        const { exitCode, text, result } = await run(place, 4, {
          processor: `{ mine: ${hook} }`,
          scenarios: [{ ...(owner === 'scenario' && mine), flow }],
        });
        assert.equal(result.account.dropped, 4, text);
        assert.equal(result.account.requests.sent, 0, text);
        assert.match(result.answer?.sentence ?? '', says, text);
        assert.doesNotMatch(text, /more cores/);
        assert.notEqual(exitCode, 0);
      });
    }
  }
});
