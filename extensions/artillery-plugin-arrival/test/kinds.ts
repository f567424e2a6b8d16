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
  /** How many it sends, if that is no matter of chance. */
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
        environments: { small: { phases: PHASES, variables: { item: [7] } } },
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
  'the engine ws': {
    script: (address) => ({
      config: { target: `ws://${address}/`, phases: PHASES },
      scenarios: [
        {
          engine: 'ws',
          flow: [
            { send: { item: '{{ $uuid }}' } },
            { think: 1 },
            { send: { payload: { item: 2 }, capture: { json: '$.taken', as: 'taken' } } },
            { loop: [{ send: { item: 3 } }], count: 2 },
          ],
        },
      ],
    }),
    options: { messages: 'send', id: 'ref', idle: 2 },
    messages: 32,
  },
  'the engine socketio': {
    script: (address) => ({
      config: { target: `http://${address}`, phases: PHASES, socketio: { transports: ['websocket'] } },
      scenarios: [
        {
          engine: 'socketio',
          flow: [
            { get: { url: '/posts' } },
            { emit: { channel: 'order', data: { item: 1 } } },
            { emit: { channel: 'other', data: { item: 1 } } },
            { think: 1 },
            { emit: ['order', '{"item": 2}'] },
          ],
        },
      ],
    }),
    options: { messages: 'emit order', id: 'ref', idle: 2 },
    messages: 16,
  },
};
