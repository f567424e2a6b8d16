/** Looks after the append-only files of an earlier Redis, which a power cut may have damaged. */
import { createReadStream } from 'node:fs';
import { cp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { execa } from 'execa';
import { ConfigError } from '../common/config.ts';
import { type Piece, readPiece } from './accepted.ts';
import { shortPath } from './file.ts';
import { DAEMON_PATH } from './launch.ts';

const DIRECTORY = 'appendonlydir';
const MANIFEST = 'appendonly.aof.manifest';
/** A line of the manifest: b is the base, i what came after it, h a file that Redis deletes. Redis 8 has more fields. */
const LINE = /^file (\S+) seq \d+ type ([bhi])( .*)?$/;
const PART = /^appendonly\.aof\.(\d+)\.(base|incr)\.(rdb|aof)$/;
/** The most bytes behind a damage whose messages are counted. */
const COUNTED_BYTES = 1_000_000_000;
const FRESH = 'npm run pipeline -- --fresh starts without them';

/** The end of a file that Redis cannot read. */
interface Damage {
  file: string;
  size: number;
  /** Bytes before it that are whole. */
  whole: number;
  /** The files that come after it, in order. What they change may rest on what is lost, so they are given up with it. */
  later: string[];
}

/**
 * Checks the files before Redis reads them. What is not whole it repairs in a copy, which takes their place; the originals stay beside
 * it. By itself it does so when no whole write gets lost: zeros at the end, an incomplete last write, a damaged manifest.
 * @param data Redis' directory
 * @param consent gives up what is behind a damage
 * @returns what it did, in one sentence; undefined: nothing
 * @throws in one line, with nothing changed, when it may not or cannot repair them
 */
export async function mendAppendOnly(data: string, consent: boolean): Promise<string | undefined> {
  const dir = join(data, DIRECTORY);
  const files: string[] = await readdir(dir).catch(() => []);
  if (!files.some((file) => PART.test(file))) return undefined;
  const manifest = await manifestFor(dir, files);
  if (manifest === undefined && (await check(dir)).isWhole) return undefined;

  const copy = `${data}.copy`;
  await rm(copy, { recursive: true, force: true });
  try {
    await cp(data, copy, { recursive: true });
    if (manifest !== undefined) await writeFile(join(copy, DIRECTORY, MANIFEST), manifest);
    const done = manifest === undefined ? [] : ['the list of its files is made anew from their names'];
    const mended = await mendEnd(join(copy, DIRECTORY), dir, consent);
    if (mended !== undefined) done.push(mended);
    const kept = `${data}.damaged-${new Date().toISOString().replace(/[:.]/g, '-')}`;
    await rename(data, kept);
    await rename(copy, data);
    return `Redis' append-only file was damaged: ${done.join('; ')}. The original is in ${shortPath(kept)}`;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Repairs the end of the last file of a copy. Returns what it did; undefined: it was whole. */
async function mendEnd(copy: string, original: string, consent: boolean): Promise<string | undefined> {
  const { isWhole, damage, says } = await check(copy);
  if (isWhole) return undefined;
  const where = shortPath(original);
  if (damage === undefined) {
    throw new ConfigError(
      `Redis' data in ${where} are damaged, and redis-check-aof cannot repair them (${says}): messages in them are not delivered; ` +
        `restore the files from a copy, or ${FRESH}`,
    );
  }
  const { file, size, whole, later } = damage;
  const { onlyZeros, piece } = await readEnd(copy, damage);
  const count = `${number(size - whole)} bytes`;
  const more = later.length === 0 ? '' : ` and in ${later.join(' and ')}`;
  const lost =
    piece === undefined ? 'messages that were not counted' : `at least ${number(piece.messages)} messages`;
  if (!piece?.isIncomplete && !consent) {
    throw new ConfigError(
      `${join(where, file)} is damaged at byte ${number(whole)} of ${number(size)}, and ${lost} that an ingest accepted are behind it${more}; ` +
        `npm run pipeline -- --repair starts without these, and keeps the original; ${FRESH}, and without all others`,
    );
  }
  await giveUp(copy, later);
  const { all } = await execa('redis-check-aof', ['--fix', join(copy, MANIFEST)], {
    ...QUIETLY,
    input: 'y\n',
  });
  const after = await check(copy);
  if (!after.isWhole) {
    throw new ConfigError(
      `${join(where, file)} is damaged, and redis-check-aof cannot repair it (${lastLine(all)}): ${FRESH}`,
    );
  }
  if (onlyZeros) return `${count} of zeros at its end are cut off, in which there is no message`;
  if (piece?.isIncomplete) {
    const held = piece.messages > 0 ? `, with ${number(piece.messages)} messages` : '';
    return `its last write, ${count} that are incomplete, is cut off${held}: it was a second old at most`;
  }
  const files =
    later.length === 0
      ? ''
      : `${file} is cut off at byte ${number(whole)}, ${later.join(' and ')} after it left out`;
  return `${files || `its last ${count} are cut off`}, and with them ${lost} that an ingest had accepted`;
}

/** Takes files out of a copy and its manifest: redis-check-aof repairs only the last one that is there. */
async function giveUp(copy: string, files: readonly string[]): Promise<void> {
  if (files.length === 0) return;
  const lines = (await readFile(join(copy, MANIFEST), 'latin1')).split('\n');
  const left = lines.filter((line) => !files.includes(LINE.exec(line)?.[1] ?? ''));
  await writeFile(join(copy, MANIFEST), left.join('\n'));
  for (const file of files) await rm(join(copy, file));
}

/** The files that a manifest has after one of them. */
async function filesAfter(dir: string, file: string): Promise<string[]> {
  const text = await readFile(join(dir, MANIFEST), 'latin1');
  const named = text.split('\n').flatMap((line) => {
    const [, name = '', type] = LINE.exec(line) ?? [];
    return type === 'i' ? [name] : [];
  });
  return named.slice(named.indexOf(file) + 1);
}

/** The manifest that has to replace the one that is there; undefined: none. Throws when files are missing. */
async function manifestFor(dir: string, files: readonly string[]): Promise<string | undefined> {
  const text = await readFile(join(dir, MANIFEST), 'latin1').catch(() => '');
  const lines = text.split('\n').filter((line) => line !== '');
  const named = lines.map((line) => LINE.exec(line));
  if (lines.length > 0 && named.every((line) => line !== null)) {
    const missing = named.find(([, file = '', type]) => type !== 'h' && !files.includes(file));
    if (missing === undefined) return undefined;
    throw new ConfigError(
      `Redis' data in ${shortPath(dir)} lack the file ${missing[1]}: restore it from a copy, or ${FRESH}`,
    );
  }
  const parts = files.flatMap((file) => {
    const [, seq, kind] = PART.exec(file) ?? [];
    return kind === undefined ? [] : [{ file, seq: Number(seq), type: kind === 'base' ? 'b' : 'i' }];
  });
  const [bases, later] = ['b', 'i'].map((type) =>
    parts.filter((part) => part.type === type).sort((a, b) => a.seq - b.seq),
  ) as [typeof parts, typeof parts];
  const inRow = later.every(({ seq }, i) => seq === (later[0]?.seq ?? 0) + i);
  if (bases.length > 1 || !inRow) {
    throw new ConfigError(
      `${join(shortPath(dir), MANIFEST)} is damaged, and the files beside it do not show their order: restore it from a copy, or ${FRESH}`,
    );
  }
  return [...bases, ...later].map(({ file, seq, type }) => `file ${file} seq ${seq} type ${type}\n`).join('');
}

const QUIETLY = { all: true, reject: false, env: { PATH: DAEMON_PATH } } as const;

/** Lets redis-check-aof look at the files of a manifest. */
async function check(dir: string): Promise<{ isWhole: boolean; damage?: Damage; says: string }> {
  const result = await execa('redis-check-aof', [join(dir, MANIFEST)], QUIETLY);
  // Without the program Redis itself looks.
  if (result.code === 'ENOENT' || result.exitCode === 0) return { isWhole: true, says: '' };
  const rows = result.all.matchAll(/filename=(\S+), size=(\d+), ok_up_to=(\d+),.* diff=(\d+)/g);
  const [file, size, whole] = [...rows].find(([, , , , rest]) => rest !== '0')?.slice(1, 4) ?? [];
  const says = lastLine(result.all);
  if (file === undefined || !file.endsWith('.incr.aof')) return { isWhole: false, says };
  const later = await filesAfter(dir, file);
  return { isWhole: false, damage: { file, size: Number(size), whole: Number(whole), later }, says };
}

const lastLine = (text: string) => text.trim().split('\n').at(-1) ?? '';

/** Reads what is behind a damage, in the file and in those after it. */
async function readEnd(
  dir: string,
  { file, whole, later }: Damage,
): Promise<{ onlyZeros: boolean; piece?: Piece }> {
  const parts = [
    { path: join(dir, file), from: whole },
    ...later.map((name) => ({ path: join(dir, name), from: 0 })),
  ];
  const sizes = await Promise.all(parts.map(async ({ path, from }) => (await stat(path)).size - from));
  const size = sizes.reduce((sum, one) => sum + one, 0);
  if (size > COUNTED_BYTES) return { onlyZeros: false };
  const bytes = Buffer.concat(
    await Promise.all(parts.map(({ path, from }) => buffer(createReadStream(path, { start: from })))),
  );
  return { onlyZeros: bytes.every((byte) => byte === 0), piece: readPiece(bytes) };
}

const number = (value: number) => value.toLocaleString('en');
