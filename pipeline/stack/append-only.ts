/** Says what a damage of an earlier Redis' append-only files costs. Mending them is the user's decision. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { ConfigError } from '../common/config.ts';
import { shortPath } from './file.ts';
import { DAEMON_PATH } from './launch.ts';

const DIRECTORY = 'appendonlydir';
const MANIFEST = 'appendonly.aof.manifest';
const FRESH = 'npm run pipeline -- --fresh starts without them';

/**
 * Refuses files of writes without their list: without one Redis would start without their messages.
 * @param data Redis' directory
 */
export async function requireManifest(data: string): Promise<void> {
  const files: string[] = await readdir(join(data, DIRECTORY)).catch(() => []);
  if (!files.some((file) => file.startsWith('appendonly.aof.') && file !== MANIFEST)) return;
  const list = await readFile(join(data, DIRECTORY, MANIFEST), 'latin1').catch(() => '');
  if (list.trim() !== '') return;
  const where = shortPath(join(data, DIRECTORY));
  throw new ConfigError(
    `${where} has Redis' messages, and ${MANIFEST}, the list of its files, is missing or empty: restore it from a copy, or ${FRESH}`,
  );
}

/**
 * The reason why Redis did not start with the data of an earlier one.
 * @param failure the one that Redis' end shows
 */
export async function whyUnreadable(data: string, failure: unknown): Promise<unknown> {
  const dir = join(data, DIRECTORY);
  const manifest = join(dir, MANIFEST);
  const { code, exitCode, all } = await execa('redis-check-aof', [manifest], {
    all: true,
    reject: false,
    env: { PATH: DAEMON_PATH },
  });
  if (code === 'ENOENT' || exitCode === 0) return failure;
  const rows = [...all.matchAll(/filename=(\S+), size=(\d+), ok_up_to=(\d+),.* diff=(\d+)/g)];
  const [, file = '', size = 0, whole = 0, behind = 0] = rows.find(([, , , , diff]) => diff !== '0') ?? [];
  const writes = (await readFile(manifest, 'latin1').catch(() => '')).match(/^file \S+ .*type i.*$/gm) ?? [];
  // redis-check-aof cuts off the end of the last file only.
  if (file === '' || !writes.at(-1)?.startsWith(`file ${file} `)) {
    const says = all.trim().split('\n').at(-1);
    return new ConfigError(
      `Redis' messages in ${shortPath(dir)} are damaged, and redis-check-aof cannot repair them (${says}): ` +
        `restore the files from a copy, or ${FRESH}`,
    );
  }
  const number = (value: string | number) => Number(value).toLocaleString('en');
  return new ConfigError(
    `${shortPath(join(dir, file))} is damaged at byte ${number(whole)} of ${number(size)}, and Redis does not start with it: ` +
      `redis-check-aof --fix ${shortPath(manifest)} cuts off the last ${number(behind)} bytes, with what an ingest accepted in them ` +
      `(copy ${shortPath(data)} first); ${FRESH}, and without all others`,
  );
}
