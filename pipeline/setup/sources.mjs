import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * SHA-256, in hex, over the name and the content of files, in the order given: name, zero byte, content, zero
 * byte. `extensions/k6/cmd/k6/sources.go` computes the same, so that k6 knows when it is stale.
 */
export function hashFiles(folder, names) {
  const hash = createHash('sha256');
  for (const name of names) {
    hash
      .update(name)
      .update('\0')
      .update(readFileSync(join(folder, name)))
      .update('\0');
  }
  return hash.digest('hex');
}

/** The files below a folder that `counts` accepts by their slash-separated path, in bytewise order. */
export function filesBelow(folder, counts = () => true) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .map((path) => path.slice(folder.length + 1).replaceAll('\\', '/'))
    .filter(counts)
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** The variable of `cmd/k6` that holds the hash of its sources; the binary says so in its build information. */
export const HASH = 'main.hash';

/** The sources that a k6 says it was built from, without Go's help; undefined: there is none, or it does not say. */
export function builtFrom(binary) {
  if (!existsSync(binary)) return undefined;
  const bytes = readFileSync(binary);
  const at = bytes.indexOf(`${HASH}=`) + HASH.length + 1;
  return /^[0-9a-f]{64}/.exec(bytes.toString('latin1', at, at + 64))?.[0];
}

/** What `./k6` is built from. */
export function k6Sources(root) {
  const folder = join(root, 'extensions/k6');
  return hashFiles(folder, filesBelow(folder, isK6Source));
}

export function isK6Source(path) {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const others = ['go.mod', 'go.sum', 'page.gen.html', 'pipeline.schema.json', 'try.gen.js', 'help.txt'];
  if (others.includes(name)) return true;
  return name.endsWith('.gohtml') || (name.endsWith('.go') && !name.endsWith('_test.go'));
}

/** What the pages are built from. */
export function pageSources(root) {
  return hashFiles(root, pageFiles(root));
}

/** The files of pages: their own, the code they share, and the packages. */
export function pageFiles(root) {
  const below = (folder) =>
    filesBelow(join(root, 'reports', folder), (path) => !path.startsWith('test/')).map(
      (name) => `reports/${folder}/${name}`,
    );
  const shared = readdirSync(join(root, 'reports')).filter((name) => name.endsWith('.ts'));
  return [
    ...['page', 'comparison', 'referee', 'history', 'contract'].flatMap(below),
    ...shared.sort().map((name) => `reports/${name}`),
    'pipeline/shared/printable.ts',
    'package-lock.json',
  ];
}
