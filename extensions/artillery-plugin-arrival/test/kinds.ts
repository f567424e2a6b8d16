/** Scripts of the kinds that Artillery's documentation has, each with a message, for a {@link Shop}. */

export interface Script {
  config: Record<string, unknown>;
  [key: string]: unknown;
}

interface Kind {
  script: (address: string) => Script;
  files?: Record<string, string>;
  options?: object;
  args?: string[];
  env?: NodeJS.ProcessEnv;
  /** The number of messages that it sends. Absent: chance decides. */
  messages?: number;
  /** Counters that are a matter of chance. */
  without?: RegExp[];
}

const PHASES = [{ duration: 2, arrivalRate: 4 }];
const ORDER = { post: { url: '/orders', json: { order: { item: 1 } } } };
export const ALONG = { messages: 'POST /orders', id: 'order.ref', idle: 2 };

export const KINDS: Record<string, Kind> = {
  'parallel steps, a condition, a count, captures and cookies': {
    script: () => ({
      config: { phases: PHASES, http: { defaults: { cookie: { session: 'one' } } } },
      scenarios: [
        {
          flow: [
            { get: { url: '/posts', capture: [{ json: '$.total', as: 'total' }] } },
            { parallel: [ORDER, { get: { url: '/posts/1' } }, ORDER] },
            { loop: [ORDER, { think: '10ms' }], count: '{{ total }}' },
            { post: { ...ORDER.post, ifTrue: 'total == 4' } },
            { get: { url: '/posts/2', ifTrue: 'total == 3' } },
          ],
        },
      ],
    }),
    messages: 40,
  },
  'hooks and function steps': {
    script: () => ({
      config: { phases: PHASES, processor: 'hooks.cjs' },
      scenarios: [
        {
          beforeScenario: 'begin',
          afterScenario: ['end'],
          beforeRequest: 'header',
          afterResponse: 'look',
          onError: 'failed',
          flow: [
            { function: 'wait' },
            { log: 'on the way' },
            { post: { url: '/orders', beforeRequest: ['own'], afterResponse: 'look' } },
            { loop: [{ get: { url: '/posts' } }], whileTrue: 'again' },
          ],
        },
      ],
    }),
    files: {
      'hooks.cjs': `module.exports = {
  begin(context, events, next) { context.vars.left = 2; events.emit('counter', 'mine.begun', 1); next(); },
  async end(context, events) { events.emit('counter', 'mine.ended', 1); },
  header(params, context, events, next) { params.headers = { ...params.headers, 'x-mine': 'yes' }; next(); },
  async own(params) { params.json = { order: { item: 2 } }; },
  look(params, response, context, events, next) { events.emit('counter', 'mine.seen.' + response.statusCode, 1); next(); },
  failed(error, params, context, events, next) { next(); },
  wait(context, events, next) { setTimeout(next, 5); },
  again(context, next) { next(--context.vars.left > 0); },
};`,
    },
    messages: 8,
  },
  'weights and probabilities': {
    script: () => ({
      config: { phases: [{ duration: 2, arrivalRate: 20 }] },
      scenarios: [
        { name: 'look', weight: 3, flow: [{ get: { url: '/posts' } }, { get: { url: '/posts/1' } }] },
        { name: 'buy', weight: 2, flow: [{ get: { url: '/posts', probability: 50 } }, ORDER] },
      ],
    }),
    without: [/created_by_name/, /^http\./, /by-endpoint/],
  },
  environments: {
    script: () => ({
      config: {
        phases: [{ duration: 60, arrivalRate: 1000 }],
        environments: {
          small: {
            phases: [{ duration: '{{ $processEnvironment.SECONDS }}', arrivalRate: '{{ $env.RATE }}' }],
            variables: { item: [7] },
          },
        },
      },
      scenarios: [
        {
          flow: [
            { post: { url: '/orders', json: { order: { item: '{{ item }}', in: '{{ $environment }}' } } } },
          ],
        },
      ],
    }),
    args: ['-e', 'small'],
    env: { SECONDS: '2', RATE: '4' },
    messages: 8,
  },
  'a processor in TypeScript': {
    script: () => ({
      config: { phases: PHASES, processor: 'mine.ts' },
      scenarios: [{ flow: [{ post: { url: '/orders', beforeRequest: 'fill' } }] }],
    }),
    files: {
      'mine.ts':
        'export async function fill(params: { json?: object }): Promise<void> { params.json = { order: { item: 3 as number } }; }',
    },
    messages: 8,
  },
  'forms, uploads and bodies': {
    script: () => ({
      config: { phases: PHASES },
      scenarios: [
        {
          flow: [
            { post: { url: '/orders', form: { item: '{{ $uuid }}' } } },
            { post: { url: '/orders', formData: { item: 'x', file: { fromFile: './upload.txt' } } } },
            { post: { url: '/orders', body: '{"item": "{{ $uuid }}"}' } },
            { post: { url: '/orders', json: '{{ nothing }}', ifTrue: 'nothing' } },
          ],
        },
      ],
    }),
    files: { 'upload.txt': 'a file' },
    options: { messages: 'POST /orders', id: 'ref', idle: 2 },
    messages: 24,
    without: [/downloaded/],
  },
  'payload files and a loop over values': {
    script: () => ({
      config: {
        phases: PHASES,
        payload: [
          { path: 'a.csv', fields: ['who'], order: 'sequence' },
          { path: 'b.csv', name: 'all', loadAll: true, fields: ['id', 'label'], skipHeader: true },
        ],
      },
      scenarios: [
        {
          flow: [
            {
              loop: [
                {
                  post: {
                    url: '/orders',
                    json: { order: { item: '{{ $loopElement.id }}', by: '{{ who }}' } },
                  },
                },
              ],
              over: 'all',
            },
          ],
        },
      ],
    }),
    files: { 'a.csv': 'ada\nbob\n', 'b.csv': 'id,label\n1,x\n2,y\n' },
    messages: 16,
  },
  'a count of virtual users, a pause and a ramp': {
    script: () => ({
      config: {
        phases: [
          { name: 'few', duration: '2s', arrivalCount: 6 },
          { pause: 1 },
          { name: 'more', duration: 2, arrivalRate: 2, rampTo: 6 },
        ],
      },
      scenarios: [{ flow: [ORDER] }],
    }),
  },
  'most virtual users at once, and other plugins': {
    script: () => ({
      config: {
        phases: [{ duration: 2, arrivalRate: 10, maxVusers: 100 }],
        plugins: { 'metrics-by-endpoint': {}, expect: {}, ensure: {} },
        ensure: { thresholds: [{ 'vusers.failed': 1 }] },
      },
      scenarios: [{ flow: [{ get: { url: '/posts', expect: [{ statusCode: 200 }] } }, ORDER] }],
    }),
    messages: 20,
  },
  'cookies, tokens, headers and metrics of the script': {
    script: () => ({
      config: {
        phases: PHASES,
        processor: 'tokens.mjs',
        variables: { who: ['ada', 'bob'] },
        defaults: { headers: { 'x-key': 'k' } },
        plugins: { apdex: {}, 'metrics-by-endpoint': { useOnlyRequestNames: true } },
        apdex: { threshold: 1000 },
      },
      before: { flow: [{ function: 'shared' }] },
      after: { flow: [{ get: { url: '/posts' } }] },
      scenarios: [
        {
          beforeRequest: 'refresh',
          afterResponse: 'count',
          flow: [
            { function: 'own' },
            { post: { url: '/login', json: { user: '{{ who }}' } } },
            { post: { url: '/state', cookie: { mood: 'busy' } } },
            {
              get: {
                url: '/account',
                qs: { a: 1 },
                headers: { 'x-token': '{{ token }}' },
                beforeRequest: 'by',
                match: [
                  { json: '$.cookie', value: 'seen=1; mood=busy' },
                  { json: '$.by', value: 'one own' },
                ],
              },
            },
            {
              post: {
                name: 'create',
                url: '/orders',
                json: {
                  query: 'mutation {\n create(order: $order) { id }\n}',
                  variables: { order: { item: 1 } },
                },
                capture: { json: '$.taken', as: 'taken' },
              },
            },
            { post: { url: '/orders', json: { query: 'query {}', variables: { taken: '{{ taken }}' } } } },
          ],
        },
      ],
    }),
    files: {
      'tokens.mjs': `export function shared(context, events, done) { context.vars.shared = 'one'; done(); }
export const own = async (context) => { context.vars.own = 'own'; };
export async function refresh(params, context) {
  context.until ??= Date.now() + 60_000;
  context.vars.token = 'token';
}
export function by(params, { vars }, events, next) {
  setTimeout(() => { params.headers['x-by'] = vars.shared + ' ' + vars.own; next(); }, 5);
}
export function count(params, response, context, events, next) {
  events.emit('counter', 'mine.counted', 1);
  events.emit('histogram', 'mine.size', response.body.length);
  next();
}`,
    },
    options: { messages: { name: 'create' }, id: 'variables.order.ref', idle: 2 },
    messages: 8,
  },
  'a redirect, which is one message': {
    script: () => ({
      config: { phases: PHASES },
      scenarios: [{ flow: [{ post: { ...ORDER.post, url: '/moved/orders' } }] }],
    }),
    options: { ...ALONG, messages: 'POST /moved/orders' },
    messages: 8,
  },
  'no phases, a shared configuration and a table of requests': {
    script: () => ({
      config: { payload: { path: 'table.csv', name: 'table', loadAll: true, fields: ['url', 'code'] } },
      scenarios: [
        {
          flow: [
            {
              loop: [
                {
                  post: {
                    url: '{{ $loopElement.url }}',
                    json: {},
                    followRedirect: false,
                    expect: { statusCode: '{{ $loopElement.code }}' },
                  },
                },
              ],
              over: 'table',
            },
          ],
        },
      ],
    }),
    files: {
      'table.csv': '/orders,202\n/orders?a=1,202\n/posts,202\n',
      'common.yml': 'config: { plugins: { expect: {} } }',
    },
    args: ['--config', 'common.yml'],
    messages: 2,
  },
  'a function of the script that sends by itself': {
    script: (address) => ({
      config: { phases: PHASES, processor: 'rpc.cjs', variables: { to: `http://${address}/orders/` } },
      scenarios: [{ flow: [{ think: '10ms' }, { function: 'call' }, { get: { url: '/posts' } }] }],
    }),
    files: {
      'rpc.cjs': `exports.call = async ({ vars }, events) => {
  const { status } = await fetch(vars.to + (vars.$arrival?.id ?? ''), { method: 'POST' });
  events.emit('counter', 'rpc.codes.' + status, 1);
};`,
    },
    options: { messages: 'function call', idle: 2 },
    messages: 8,
  },
  'the engine ws': {
    script: (address) => ({
      config: { target: 'ws://127.0.0.1:1/', phases: PHASES, processor: 'score.cjs' },
      scenarios: [
        {
          engine: 'ws',
          flow: [
            { connect: `ws://${address}/` },
            { function: 'score' },
            { send: '{{ score }}' },
            { send: { item: '{{ $uuid }}' } },
            { think: 1 },
            { send: { payload: { item: 2 }, capture: { json: '$.taken', as: 'taken' } } },
            { loop: [{ send: { item: 3 } }], count: 2 },
          ],
        },
      ],
    }),
    files: {
      'score.cjs': 'exports.score = ({ vars }, events, next) => { vars.score = { of: 7 }; next(); };',
    },
    options: { messages: 'send', id: 'ref', idle: 2 },
    messages: 40,
  },
  'the engine socketio': {
    script: (address) => ({
      config: { target: `http://${address}`, phases: PHASES, socketio: { transports: ['websocket'] } },
      scenarios: [
        {
          engine: 'socketio',
          flow: [
            { get: { url: '/posts', capture: { json: '$.total', as: 'total' } } },
            { emit: { channel: 'order', data: { item: '{{ total }}' } } },
            {
              emit: { channel: 'other', data: { item: 1 } },
              response: { channel: 'taken', data: { item: 1 } },
            },
            { think: 1 },
            { loop: [{ emit: ['order', '{"item": 2}'] }], count: 2 },
            {
              namespace: '/own',
              emit: { channel: 'order', data: { item: 3 } },
              acknowledge: { match: { json: '$.0.taken', value: true } },
            },
            {
              namespace: '/own',
              emit: { channel: 'order', data: { item: 4 } },
              response: { channel: 'taken', match: { json: '$.0.item', value: 4 } },
            },
          ],
        },
      ],
    }),
    options: { messages: 'emit order', id: 'ref', idle: 2 },
    messages: 40,
  },
};
