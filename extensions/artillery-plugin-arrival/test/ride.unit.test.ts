import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { requireThisHost } from '../one-sender.ts';
import { phasesOf, seconds, thinkTime } from '../phases.ts';
import { OptionError } from '../pipeline.ts';
import { Session } from '../ride/due.ts';
import { Marks } from '../ride/marks.ts';
import {
  contentOf,
  holds,
  holdsFor,
  type Params,
  putId,
  reaches,
  requestIn,
  rulesOf,
  sendingOf,
  withAt,
} from '../ride/messages.ts';
import { readRide } from '../ride/options.ts';
import { follow } from '../ride/steps.ts';
import type { Script } from '../script.ts';

const [POST] = rulesOf('POST /orders/*');
assert.ok(POST);

test('a path has parts, and a query is none of them', () => {
  for (const [pattern, url, expected] of [
    ['/orders', '/orders', true],
    ['/orders', '/orders/', true],
    ['/orders', '/orders?a=/b', true],
    ['/orders', 'https://shop.example/orders#x', true],
    ['/orders', '/orders/1', false],
    ['/orders', '/my/orders', false],
    ['/orders/*', '/orders/1', true],
    ['/orders/*', '/orders/1/2', false],
    ['/orders/**', '/orders/1/2', true],
    ['/a.b', '/aXb', false],
  ] as const)
    assert.equal(reaches(pattern, url), expected, `${pattern} ${url}`);
});

test('rules hold for requests by method, path, name, or as a function says', () => {
  assert.equal(holds(POST, 'post', { url: '/orders/1' }), true);
  assert.equal(holds(POST, 'put', { url: '/orders/1' }), false);
  assert.equal(holds(POST, 'post', { url: '/orders/{{ id }}' }), undefined, 'only the run can say');
  assert.equal(holds({ name: 'buy' }, 'get', { url: '/x', name: 'buy' }), true);
  assert.equal(holds({ name: 'buy' }, 'get', { url: '/x' }), false);
  assert.equal(holds({ function: 'f' }, 'get', { url: '/x' }), undefined);
  assert.equal(holds({ function: 'f' }, 'send', 'x'), false);
  assert.equal(holds({ method: 'send', path: undefined }, 'send', 'x'), true);
  assert.equal(holds({ method: 'emit', path: 'order' }, 'emit', { channel: 'order' }), true);
  assert.equal(holds({ method: 'emit', path: 'order' }, 'emit', ['other', 'x']), false);
  assert.equal(holdsFor({ name: 'buy' }, { name: 'buy', url: '' }), true);
  assert.deepEqual(requestIn({ post: { url: '/' } }), { method: 'post', of: { url: '/' } });
  assert.equal(holds({ method: 'function', path: 'order' }, 'function', 'order'), true);
  for (const step of [{ think: 1 }, { wait: {} }, { loop: [] }, 'x'])
    assert.equal(requestIn(step), undefined);
});

test('other rules are refused with what is allowed', () => {
  for (const wrong of [
    undefined,
    [],
    'orders',
    'POST',
    'function',
    'POST orders',
    { path: '/' },
    { name: 1 },
    7,
  ])
    assert.throws(() => rulesOf(wrong), OptionError);
});

describe('an id', () => {
  const render = (text: unknown) => (text === '{{ row }}' ? { a: 1 } : text);

  test('goes into a copy of the JSON, whose other fields stay', () => {
    const json = { order: { item: 1 }, by: 'ada' };
    const params = { json };
    assert.equal(putId(params, 'order.ref', 'id', render), undefined);
    assert.deepEqual(params.json, { order: { item: 1, ref: 'id' }, by: 'ada' });
    assert.deepEqual(json, { order: { item: 1 }, by: 'ada' }, 'all virtual users share it');
    assert.deepEqual(withAt({ a: null }, 'a.b.c', 1, render), { a: { b: { c: 1 } } });
  });

  // Regression: the map that holds it was lost where a template makes it.
  test('goes into a map that a template makes, and what is no map keeps its request from being sent', () => {
    const params: Params = { json: { order: '{{ row }}' } };
    assert.equal(putId(params, 'order.ref', 'id', render), undefined);
    assert.deepEqual(params.json, { order: { a: 1, ref: 'id' } });
    for (const order of ['text', 7, [1]])
      assert.match(String(putId({ json: { order } }, 'order.ref', 'id', render)), /no map .* order\.ref/);
    assert.throws(() => sendingOf({ send: { order: 7 } }, 'send', 'order.ref'), OptionError);
  });

  test('goes into a template of a map, a body of JSON, a form and form data', () => {
    const given: [Params, object][] = [
      [{ json: '{{ row }}' }, { json: { a: 1, ref: 'id' } }],
      [{ body: '{"a":1}' }, { body: '{"a":1,"ref":"id"}' }],
      [{ form: { a: 1 } }, { form: { a: 1, ref: 'id' } }],
      [{ formData: { a: 1 } }, { formData: { a: 1, ref: 'id' } }],
    ];
    for (const [params, expected] of given) {
      assert.equal(putId(params, 'ref', 'id', render), undefined);
      assert.deepEqual(params, expected);
    }
  });

  test('and all that is beside it is the content that is compared', () => {
    for (const [params, content] of [
      [{ json: { a: 1 } }, '{"a":1}'],
      [{ body: 'text' }, 'text'],
      [{ body: { a: 1 } }, '{"a":1}'],
      [{ form: { a: 1 } }, undefined],
      [{}, undefined],
    ] as const)
      assert.equal(contentOf(params), content);
  });

  test('that has no place is named, and its request is not sent', () => {
    for (const params of [{}, { json: [1] }, { body: 'text' }, { body: '[1]' }])
      assert.match(String(putId(params, 'ref', 'id', render)), /no map for its id at ref/);
  });

  test('is in the data of a send or emit, whose engines call no hook, also where a template makes them', () => {
    const sent = '{{ $arrival.sent }}';
    const asked = { payload: { a: 1 }, capture: { json: '$', as: 'x' } };
    const given: [object, 'send' | 'emit', step: object, data: unknown][] = [
      [{ send: { a: 1 } }, 'send', { send: sent }, { a: 1, ref: 'id' }],
      [{ send: '{{ row }}' }, 'send', { send: sent }, { a: 1, ref: 'id' }],
      [{ send: asked }, 'send', { send: { ...asked, payload: sent } }, { a: 1, ref: 'id' }],
      [{ emit: { channel: 'c', data: {} } }, 'emit', { emit: { channel: 'c', data: sent } }, { ref: 'id' }],
      [{ emit: ['c', '{}', 'd'] }, 'emit', { emit: ['c', sent, 'd'] }, '{"ref":"id"}'],
    ];
    for (const [step, method, expected, data] of given) {
      const sending = sendingOf({ namespace: '/a', ...step }, method, 'ref');
      assert.deepEqual(sending.step, { namespace: '/a', ...expected });
      assert.deepEqual(sending.dataOf('id', render), data);
    }
    const written = sendingOf({ emit: { channel: 'c', data: '{{ row }}' } }, 'emit', undefined);
    assert.deepEqual(written.step, { emit: { channel: 'c', data: sent } });
    assert.deepEqual(written.dataOf('id', render), { a: 1 }, 'the script has its id');
    assert.deepEqual(sendingOf({ emit: { channel: 'c' } }, 'emit', undefined).step, {
      emit: { channel: 'c' },
    });
    assert.throws(() => sendingOf({ send: '{{ no }}' }, 'send', 'ref').dataOf('id', render), /no map/);
    for (const step of [{ send: 'text' }, { send: { payload: 'text', capture: {} } }])
      assert.throws(() => sendingOf(step, 'send', 'ref'), OptionError);
    assert.throws(() => sendingOf({ emit: { channel: 'c' } }, 'emit', 'ref'), OptionError);
  });
});

describe('a request is due', () => {
  /** A clock that stands still unless a test moves it, s. */
  function clock(t: TestContext) {
    const at = { s: 100 };
    t.mock.method(process.hrtime, 'bigint', () => BigInt(at.s * 1e9));
    return at;
  }
  /** When the next request is due, if its step begins now. */
  function next(session: Session) {
    session.begins();
    return session.sends();
  }

  test('when the phase should have started its virtual user, with the think time before it', (t) => {
    const now = clock(t);
    assert.deepEqual(next(new Session({ due: 97e6, came: 100e6 })), { at: 97e6, byPhase: true });
    const session = new Session({ due: 97e6, came: 100e6 });
    session.think(1);
    now.s = 101;
    assert.deepEqual(next(session), { at: 98e6, byPhase: true });
  });

  test('later when the step before it ended, plus the think time, and never after now', (t) => {
    const now = clock(t);
    const session = new Session({ due: 97e6, came: 100e6 });
    next(session);
    now.s = 102;
    assert.deepEqual(next(session), { at: 102e6, byPhase: false });
    session.think(3);
    now.s = 106;
    assert.equal(next(session).at, 105e6);
    session.think(Number.NaN);
    assert.equal(next(session).at, 106e6, 'a think time that is not known');
    session.think(10);
    assert.equal(next(session).at, 106e6);
  });

  test('as much later as a function, or connecting, took before it', (t) => {
    const now = clock(t);
    now.s = 101;
    assert.equal(next(new Session({ due: 97e6, came: 100e6 })).at, 98e6, 'it came a second ago');
    const session = new Session({ due: 98e6, came: 101e6 });
    session.functionBegins();
    now.s = 103;
    session.functionEnds();
    assert.equal(next(session).at, 100e6);
  });

  test('with those that are parallel to it, and one that a condition skips leaves the time to the next', (t) => {
    const now = clock(t);
    const session = new Session({ due: 97e6, came: 100e6 });
    session.begins();
    now.s = 101;
    session.begins();
    assert.equal(session.sends().at, 97e6);
    now.s = 104;
    assert.equal(session.sends().at, 97e6);
    assert.equal(next(session).at, 104e6);
  });
});

test('functions of the plugin stand between the steps of a flow', () => {
  const [get, post] = [{ get: { url: '/a' } }, { post: { url: '/b' } }];
  const steps = follow([get, { think: 1 }, post, { parallel: [post, { loop: [post] }] }, { function: 'f' }], {
    marked: (step, { method }, timed) => (method === 'post' ? [{ ...step, timed }] : undefined),
    thinking: () => 'think',
  });
  const call = (name: string) => ({ function: `arrival:${name}` });
  assert.deepEqual(steps, [
    { get: { url: '/a', beforeRequest: ['arrival:request'] } }, // unless a condition skips it
    { function: 'think' },
    { think: 1 },
    call('step'),
    { ...post, timed: true },
    call('step'),
    { parallel: [{ ...post, timed: true }, { loop: [{ ...post, timed: false }] }] },
    call('over'),
    call('function'),
    { function: 'f' },
    call('returned'),
  ]);
});

test('a step that takes time moves what is due after it, and what connects stays first', () => {
  const steps = [{ connect: '/' }, { log: 'a' }, { wait: { match: {} } }];
  const followed = follow(steps, { marked: () => undefined, thinking: () => '' });
  assert.deepEqual(followed, [
    { connect: '/' },
    { log: 'a' },
    { function: 'arrival:over' },
    { wait: { match: {} } },
  ]);
});

test('times are read as Artillery reads them', () => {
  const given: [unknown, number][] = [
    [2, 2],
    ['2', 2],
    ['2s', 2],
    ['500 ms', 0.5],
    ['2 minutes', 120],
    ['1h', 3600],
  ];
  for (const [text, expected] of given) assert.equal(seconds(text), expected);
  assert.ok(Number.isNaN(seconds('soon')));
  assert.deepEqual([thinkTime(2), thinkTime('2'), thinkTime('2s'), thinkTime('1.5')], [2, 2, 2, 0.0015]);
});

test('the phases of the report are those of the script, with names of their own', () => {
  const phases = [
    { name: 'a', duration: '1m', arrivalRate: '5' },
    { pause: 2 },
    { name: 'a', duration: 10, arrivalCount: 20 },
    { duration: 5, arrivalRate: 1, rampTo: 9 },
  ];
  const read = phasesOf(phases, ['a']);
  assert.deepEqual(
    read.map(({ name, duration, measured }) => [name, duration, measured]),
    [
      ['a', 60, false],
      ['phase 2', 2, true],
      ['a (3)', 10, true],
      ['phase 4', 5, true],
    ],
  );
  assert.deepEqual([read[0]?.arrivalRate, read[2]?.arrivalRate, read[3]?.rampTo], [5, 2, 9]);
});

test('the flows of a run are the names of its requests, else of their scenarios', () => {
  const order = (name?: string) => ({ post: { url: '/orders', ...(name && { name }) } });
  const script = {
    config: { plugins: { arrival: { messages: 'POST /orders', id: 'id' } } },
    scenarios: [
      { name: 'shop', flow: [order(), { loop: [{ parallel: [order('gift')] }] }] },
      { flow: [order('{{ templated }}')] },
      { name: 'look', flow: [{ get: { url: '/orders' } }] },
    ],
  } as unknown as Script;
  assert.deepEqual(readRide(script).flows, ['shop', 'gift', 'scenario 2']);
});

test("Artillery's workers on other machines are refused", () => {
  requireThisHost(['node', 'artillery', 'run', 'a.yml'], {});
  for (const [argv, env] of [
    [['node', 'artillery', 'run-fargate', 'a.yml'], {}],
    [['node', 'artillery', 'run', '--platform', 'aws:lambda'], {}],
    [['node', 'artillery', 'run'], { WORKER_ID: '7' }],
  ] as const)
    assert.throws(() => requireThisHost(argv, env), {
      message: /^Artillery sends from other machines \(.*\); allowed: /,
    });
});

type Functions = Record<string, (...all: unknown[]) => unknown>;

/** The steps in place of these, each of which carries a message, and what they tell. */
function markedSteps(given: object[], rules: string[], functions: Functions, id?: string) {
  const told: { settled?: number; error?: string; status?: number }[] = [];
  let taken = 0;
  const parts = {
    options: { rules: rules.flatMap(rulesOf), id },
    functions,
    telling: { take: () => ({ number: taken++, id: 'x' }), send: (line: object) => told.push(line) },
    inFlight: { watch() {}, add() {} },
    sessions: new WeakMap(),
    token: undefined,
  };
  const marks = new Marks(parts as never);
  const steps = given.map(
    (step) =>
      marks.marked(step as never, requestIn(step) as never, { flow: 'f', open: [], timed: true }) ?? [],
  );
  return { told, steps };
}

/** Marks of function steps, what they tell, and the steps in place of each. */
function functionSteps(functions: Functions) {
  const names = Object.keys(functions);
  const { told, steps } = markedSteps(
    names.map((name) => ({ function: name })),
    names.map((name) => `function ${name}`),
    functions,
  );
  /** Calls a step as Artillery does. */
  const call = async ({ function: name }: { function?: unknown }, context: object) => {
    const one = functions[String(name)] as (...all: unknown[]) => unknown;
    if (one.constructor.name !== 'Function') await Promise.resolve(one(context, {})).catch(() => {});
    else await new Promise((next) => one(context, {}, next));
  };
  return { told, steps, call, settled: () => told.filter((line) => 'settled' in line) };
}

// Regression: an answer that an async step returned was taken for its error, and a step that failed settled its message twice where
// the flow went on, which ended the run.
test('a function step settles its message once, as it ends and not by what it returns', async () => {
  const { steps, call, settled } = functionSteps({
    answers: async () => ({ status: 200 }),
    fails: async () => {
      throw new Error('no stock');
    },
  });
  for (const those of steps) {
    const context = { vars: {}, funcs: {} };
    for (const step of those) await call(step, context);
  }
  assert.deepEqual(
    settled().map(({ status, error }) => status ?? error),
    [200, 'failed'],
  );
});

// Regression: Artillery begins parallel steps together, and the message of a function step was accepted before the step had ended.
test('a function step among parallel ones settles its message when it ends', async () => {
  const ends: { [name: string]: (error?: Error) => void } = {};
  const { steps, call, settled } = functionSteps({
    waits: async () => new Promise<void>((resolve) => (ends.waits = () => resolve())),
    calls: (_context, _events, next) => {
      ends.calls = next as () => void;
    },
    fails: async () => new Promise<void>((_, reject) => (ends.fails = reject)),
  });
  const context = { vars: {}, funcs: {} };
  const all = Promise.all(steps.flat().map((step) => call(step, context)));
  assert.deepEqual(settled(), []);
  for (const [i, name] of ['fails', 'calls', 'waits'].entries()) {
    ends[name]?.(name === 'fails' ? new Error('no stock') : undefined);
    await new Promise(setImmediate);
    assert.equal(settled().length, i + 1, name);
  }
  await all;
  assert.deepEqual(
    settled().map(({ settled, status, error }) => [settled, status ?? error]),
    [
      [2, 'failed'],
      [1, 200],
      [0, 200],
    ],
  );
});

test('a request that has its id needs no map for it', async () => {
  const functions: Functions = {};
  const asked = { url: '/orders/{{ $arrival.id }}' };
  const given = [{ delete: asked }, { send: 'a text {{ $arrival.id }}' }];
  const { told, steps } = markedSteps(given, ['DELETE /orders/*', 'send'], functions, 'order.ref');
  const context = { vars: {}, funcs: { $template: (text: unknown) => text } };
  const error = await new Promise((next) => functions['arrival:mark 0']?.({ ...asked }, context, {}, next));
  assert.equal(error, undefined);
  const [[before]] = steps.slice(1) as [[{ function: string }]];
  await functions[before.function]?.(context, {});
  assert.deepEqual(
    told.map((line) => Object.keys(line)[0]),
    ['sent'],
  );
});
