/** The history server: reads runs. It writes nothing itself; k6 completes the reports of killed runs. */
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { type Static, Type } from '@sinclair/typebox';
import type { FastifyError, FastifyPluginAsync, FastifyReply } from 'fastify';
import { FILES, openFile } from '../files.ts';
import { aside } from './aside.ts';
import { tellBefore } from './before.ts';
import type { Catalogue } from './catalogue.ts';
import { changes, inOrder, lastingChangesOf, ORDER_NAMES, pointsOf } from './changes.ts';
import type { Entry, Listing } from './entry.ts';
import { Followed, type Source } from './follow.ts';
import { compareOf, reportOf } from './page/links.ts';
import { labelsOf, matches, scriptOf, stateOf } from './text.ts';
import { Sparks, TIMELINE } from './timeline.ts';

export interface HistoryOptions {
  catalogue: Catalogue;
  /** The built pages: the list, and the template of a comparison. */
  pages: { list: string; comparison: string };
  /** Called with an error of the server itself, which is answered with 500. */
  onError: (error: Error) => void;
}

/** More runs at once would keep the server from answering for too long. */
const MOST_COMPARED = 12;
const MOST_LISTED = 200;
/** name: value. What is longer is found by text alone: a server takes no URL of any length. */
const LONGEST_LABEL = 500;
const HOSTS = new Set(['127.0.0.1', 'localhost', '[::1]']);

const RunParams = Type.Object({ run: Type.String({ maxLength: 255 }) });
const FileParams = Type.Object({ run: RunParams.properties.run, file: Type.String({ maxLength: 255 }) });
const ListQuery = Type.Object({
  text: Type.String({ default: '', maxLength: 500 }),
  label: Type.String({ default: '', maxLength: LONGEST_LABEL }),
  script: Type.String({ default: '', maxLength: 255 }),
  state: Type.String({ default: '', maxLength: 255 }),
  sort: Type.Union(
    ORDER_NAMES.map((name) => Type.Literal(name)),
    { default: 'started' },
  ),
  ascending: Type.Boolean({ default: false }),
  offset: Type.Integer({ default: 0, minimum: 0 }),
  limit: Type.Integer({ default: 50, minimum: 1, maximum: MOST_LISTED }),
});
const CompareQuery = Type.Object({
  run: Type.Array(RunParams.properties.run, {
    minItems: 2,
    maxItems: MOST_COMPARED,
    uniqueItems: true,
  }),
  'allow-failed': Type.Boolean({ default: false }),
});

/** An error that a client may see: its request was wrong. */
class HttpError extends Error {
  readonly statusCode: number;
  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

export const history: FastifyPluginAsync<HistoryOptions> = async (app, { catalogue, pages, onError }) => {
  const sparks = new Sparks();
  const followed = new Followed();
  const stopping = new AbortController();
  app.addHook('preClose', async () => stopping.abort());

  app.addHook('onRequest', async (request, reply) => {
    reply.headers({
      'content-security-policy': "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    });
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      reply.header('allow', 'GET, HEAD');
      throw new HttpError(405, `${request.method} is not allowed: this server only shows`);
    }
    // A page of somebody else's can make a name of its own mean this address.
    const host = request.headers.host?.replace(/:\d+$/, '') ?? '';
    if (!HOSTS.has(host)) throw new HttpError(403, 'this server answers to 127.0.0.1 and localhost only');
  });
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).type('text/plain').send('There is nothing here.\n'),
  );
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) onError(error);
    const message = status >= 500 ? 'Internal error' : error.message;
    return reply.code(status).type('text/plain').send(`${message}\n`);
  });

  const page = (reply: FastifyReply, html: string) => reply.type('text/html; charset=utf-8').send(html);
  const entryOf = async (run: string): Promise<Entry> => {
    const entry = await catalogue.find(run);
    if (entry === null) throw new HttpError(404, 'there is no such run');
    return entry;
  };
  const changeOf = async (run: string) => {
    const { entries } = await catalogue.list();
    const entry = entries.find(({ directory }) => directory === run);
    return entry && changes(entries).get(entry);
  };
  const directoryOf = async (run: string) => join(catalogue.root, (await entryOf(run)).directory);

  app.get('/', (_request, reply) => page(reply, pages.list));
  app.get<{ Params: { run: string } }>(
    '/live/:run',
    { schema: { params: RunParams } },
    async (request, reply) => {
      await directoryOf(request.params.run);
      return page(reply, pages.list);
    },
  );

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    '/api/runs',
    { schema: { querystring: ListQuery } },
    async ({ query: { text, label, script, state, sort, ascending, offset, limit } }): Promise<Listing> => {
      const { entries, misfits } = await catalogue.list();
      const changed = changes(entries);
      const matching = entries.filter(
        (entry) =>
          matches(entry, text) &&
          (label === '' || labelsOf(entry).includes(label)) &&
          (script === '' || scriptOf(entry) === script) &&
          (state === '' || stateOf(entry) === state),
      );
      const shown = inOrder(matching, changed, sort, ascending).slice(offset, offset + limit);
      const pictures = await sparks.of(shown.map(({ directory }) => join(catalogue.root, directory)));
      const drawn = script || (matching[0] === undefined ? '' : scriptOf(matching[0]));
      const ofScript = matching.filter((entry) => scriptOf(entry) === drawn);
      const all = (of: (entry: Entry) => string[]) =>
        [...new Set(entries.flatMap(of))].filter((one) => one.length <= LONGEST_LABEL).sort();
      return {
        runs: shown.map(({ facts: _, ...entry }, i) => ({
          ...entry,
          spark: pictures[i] ?? [],
          change: changed.get(shown[i] as Entry) ?? null,
        })),
        matching: matching.length,
        total: entries.length,
        scripts: all((entry) => [scriptOf(entry)]),
        labels: all(labelsOf),
        trend: { script: drawn, points: pointsOf(ofScript), lasting: lastingChangesOf(ofScript) },
        misfits,
      };
    },
  );

  app.get<{ Params: { run: string } }>(
    '/api/runs/:run/live',
    { schema: { params: RunParams } },
    async ({ params: { run } }, reply) => {
      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      const { directory, planned, limit } = await entryOf(run);
      const source: Source = {
        plan: { planned, limit },
        open: () => openFile(join(catalogue.root, directory), TIMELINE),
        async ended() {
          const { live = false, verdict = null, reason = '' } = (await catalogue.find(run)) ?? {};
          return live ? null : { verdict, reason };
        },
      };
      const events = await followed.follow(run, source, AbortSignal.any([stopping.signal, gone.signal]));
      if (events === null) throw new HttpError(404, 'the run has no timeline');
      return reply.type('text/event-stream').send(Readable.from(events));
    },
  );

  for (const path of ['/runs/:run', '/runs/:run/'])
    app.get<{ Params: { run: string } }>(
      path,
      { schema: { params: RunParams } },
      async ({ params: { run } }, reply) => {
        await directoryOf(run);
        return reply.redirect(`/runs/${encodeURIComponent(run)}/index.html`);
      },
    );

  app.get<{ Params: { run: string; file: string } }>(
    '/runs/:run/:file',
    { schema: { params: FileParams } },
    async ({ params: { run, file: name } }, reply) => {
      const type = Object.hasOwn(FILES, name) ? FILES[name] : undefined;
      const file = type === undefined ? null : await openFile(await directoryOf(run), name);
      if (type === undefined || file === null) throw new HttpError(404, 'the run has no such file');
      // A report is somebody's file: its scripts run, but not as a part of this site.
      const policy = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'";
      reply.type(type).header('content-security-policy', policy);
      const change = name === 'index.html' ? await changeOf(run) : undefined;
      const stream = file.createReadStream();
      return reply.send(change === undefined ? stream : tellBefore(stream, change, run));
    },
  );

  app.get<{ Querystring: { run: string[]; 'allow-failed': boolean } }>(
    '/compare',
    { schema: { querystring: CompareQuery } },
    async ({ query }, reply) => {
      const directories = await Promise.all(query.run.map(directoryOf));
      const asked = query.run.map((run, i) => {
        const directory = directories[i] as string;
        return { directory, name: basename(directory), page: reportOf(run) };
      });
      const made = await aside('compare', asked, query['allow-failed'], pages.comparison).catch(
        (error: Error) => {
          throw new HttpError(422, `these runs cannot be compared: ${error.message}`);
        },
      );
      if ('failed' in made)
        return page(reply.code(422), askForFailed(made.failed, compareOf(query.run, true)));
      return page(reply, made.html);
    },
  );
};

/** The refusal of a comparison, with a way to have it all the same. */
function askForFailed(accounts: readonly string[], link: string): string {
  const escaped = (text: string) =>
    text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/\p{Cf}/gu, '\ufffd');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Not compared – Arrival</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem; overflow-wrap: anywhere }</style>
<h1>Not compared</h1>
<p>Messages of these runs failed, and their figures are those of the others:</p>
<ul>${accounts.map((account) => `<li>${escaped(account)}</li>`).join('')}</ul>
<p><a href="${escaped(link)}">Compare them anyway</a>, with the accounts on top · <a href="/">All runs</a></p>
</html>
`;
}
