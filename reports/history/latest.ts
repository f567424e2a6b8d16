import { join } from 'node:path';
import { ConfigError } from '../../pipeline/shared/config.ts';
import { Catalogue } from './catalogue.ts';
import { scriptOf } from './text.ts';

/**
 * The newest run that has ended, of all or of one method. An instance's part of one is none.
 * @param name `latest`, `latest:<method>`, which is one of k6's, or `latest:<method>:<tool>`
 * @param root the directory of the runs
 * @returns its directory; undefined: it is another name
 * @throws {ConfigError} where there is no such run
 */
export async function latest(name: string, root: string): Promise<string | undefined> {
  const [, asked] = /^latest(?::(.+))?$/.exec(name) ?? [name, null];
  if (asked === null) return undefined;
  const { entries } = await new Catalogue(root).list();
  const whole = entries.filter(({ live, generator }) => !live && generator === null);
  const found = whole.find((entry) => asked === undefined || scriptOf(entry) === asked);
  if (found !== undefined) return join(root, found.directory);
  const methods = [...new Set(entries.map(scriptOf))].sort().join(', ');
  throw new ConfigError(
    `there is no run${asked === undefined ? '' : ` of ${asked}`} that has ended in reports/runs; there are runs of: ${methods || 'nothing'}`,
  );
}
