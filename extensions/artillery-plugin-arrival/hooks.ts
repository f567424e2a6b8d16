/**
 * Hooks of the script. If a before-request hook fails, or changes what the plugin writes, the request is not sent. No other hook may end
 * Artillery's thread, or keep a virtual user for ever.
 */
import type { RequestParams } from './request.ts';
import { isMap, type Table } from './table.ts';

type Next = (error?: Error) => void;
// biome-ignore lint/suspicious/noExplicitAny: each kind of hook has its own arguments, `next` last
export type Hook = (...args: any[]) => any;

/** How long a hook may take to call back, ms. A request whose hook is later than that is dropped anyway. */
const PATIENCE = 30_000;

/** Calls a hook. Artillery tells them apart in the same way: an async function calls nothing back, and what it returns is no error. */
function call(hook: Hook, args: unknown[], done: (error?: Error) => void): void {
  if (hook.constructor.name === 'Function') hook(...args, done);
  else
    hook(...args).then(
      () => done(),
      (error?: Error) => done(error || new Error('it failed without a reason')),
    );
}

/**
 * A hook that reports its own failure before Artillery ends the virtual user. `failed` has the arguments of the hook but for
 * `next`.
 */
export function watched(
  name: string,
  hook: Hook,
  failed: (message: string, ...args: never[]) => Promise<void>,
): Hook {
  return (...all: unknown[]) => {
    const next = all.pop() as Next;
    let open = true;
    const end = (error?: Error) => {
      if (!open) return;
      open = false;
      clearTimeout(limit);
      if (!error) return next();
      const message = `the hook ${name} failed: ${error.message ?? error}`;
      failed(message, ...(all as never[])).then(() => next(error), next);
    };
    const limit = setTimeout(
      () => end(new Error(`it did not call back within ${PATIENCE / 1000} s`)),
      PATIENCE,
    );
    try {
      call(hook, all, end);
    } catch (error) {
      end(error as Error);
    }
  };
}

/**
 * Watches the condition of a loop. Artillery's has no way to fail: one that fails goes on, and `check`, the first step of the loop,
 * has its error. An async condition may return its answer.
 */
export function watchedLoop(
  name: string,
  condition: Hook,
  failed: () => Promise<void>,
): { condition: Hook; check: Hook } {
  const failures = new WeakMap<object, Error>();
  return {
    condition(context: object, done: (goOn: unknown) => void) {
      let answer: unknown;
      const ask = (_context: object, next: Next) => {
        const answered = (goOn: unknown) => {
          answer = goOn;
          next();
        };
        const returned = condition(context, answered);
        if (typeof returned?.then === 'function')
          returned.then((goOn: unknown) => goOn !== undefined && answered(goOn), next);
      };
      watched(
        name,
        ask,
        failed,
      )(context, (error?: Error) => {
        if (error) failures.set(context, error);
        done(error ? true : answer);
      });
    },
    check: (context: object, _events: unknown, next: Next) => next(failures.get(context)),
  };
}

/** Keys of a message that the plugin writes, with this key of the id. */
const writtenOf = (id: string): string[] => [id.split('.')[0] as string, 'target', 'source'];

/** Names the part of a request that a hook has changed and the plugin or Artillery would replace; undefined: there is none. */
export function changedIn(
  params: RequestParams,
  { url, id, closed }: { url: string; id: string; closed: boolean },
) {
  const { json, body, method } = params;
  if (params.url !== url) return `a hook set the url ${params.url}; allowed: ${url}`;
  if (method !== undefined && method !== 'POST') return `a hook set the method ${method}; allowed: POST`;
  const other = ['uri', 'auth', 'form', 'formData', 'searchParams', ...(closed ? [] : ['cookie'])].find(
    (key) => (params as unknown as Table)[key] !== undefined,
  );
  if (other !== undefined) return `a hook set ${other}; allowed: json and headers`;
  if (body !== undefined || (json !== undefined && !isMap(json)))
    return 'a hook set a body that is not a map; allowed: json, a map of fields that go into each message';
  const fixed = writtenOf(id).find((key) => Object.hasOwn((json ?? {}) as Table, key));
  return fixed && `a hook set json with ${fixed}, which the plugin writes; allowed: other fields`;
}

/**
 * A hook that does what it does, and also reports its failure. `failed` has its error and its arguments but for `next`.
 */
export function reporting(hook: Hook, failed: (error: unknown, ...args: never[]) => void): Hook {
  return (...all: unknown[]) => {
    const next = all.pop() as (error?: unknown) => void;
    const answer = (error?: unknown) => {
      if (error) failed(error, ...(all as never[]));
      next(error);
    };
    try {
      call(hook, all, answer);
    } catch (error) {
      failed(error, ...(all as never[]));
      throw error;
    }
  };
}
