import { copyFile, cp, link, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';

/**
 * Makes a separate checkout, set up like this one. It copies our files, so that Node and k6 find them there; k6, which looks for its
 * sources beside itself, can be a link.
 */
export async function copyCheckout(checkout: string): Promise<void> {
  const root = join(import.meta.dirname, '../..');
  const ours = ['package.json', 'package-lock.json', 'extensions', 'pipeline', 'reports', 'scenarios'];
  const left = ['node_modules', 'runs', 'comparisons'];
  for (const name of ours) {
    const filter = (path: string) => !left.includes(basename(path));
    await cp(join(root, name), join(checkout, name), { recursive: true, filter });
  }
  await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'));
  const k6 = join(root, 'k6');
  // It is on another file system, perhaps.
  await link(k6, join(checkout, 'k6')).catch(() => copyFile(k6, join(checkout, 'k6')));
}
