import { join } from 'node:path';
import { Catalogue } from './catalogue.ts';

/**
 * The newest run that is over, of all or of one method. An instance's part of one is none.
 * @param name `latest`, or `latest:<method>`
 * @param root the directory of the runs
 * @returns its directory; undefined: it is another name
 * @throws an error of one line where there is no such run
 */
export async function latest(name: string, root: string): Promise<string | undefined> {
  const [, method] = /^latest(?::(.+))?$/.exec(name) ?? [name, null];
  if (method === null) return undefined;
  const { entries } = await new Catalogue(root).list();
  const whole = entries.filter(({ live, generator }) => !live && generator === null);
  const found = whole.find((entry) => method === undefined || entry.method === method);
  if (found !== undefined) return join(root, found.directory);
  const methods = [...new Set(entries.map((entry) => entry.method))].sort().join(', ');
  throw new Error(
    `there is no run${method === undefined ? '' : ` of ${method}`} that is over in reports/runs; there are runs of: ${methods || 'nothing'}`,
  );
}
