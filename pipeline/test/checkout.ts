import { copyFile, cp, link, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';

/**
 * Makes a separate checkout, set up like this one. Our files are copies, so that Node and k6 find them there.
 * k6 can be a link, as it looks for its sources beside itself.
 */
export async function copyCheckout(checkout: string): Promise<void> {
  const root = join(import.meta.dirname, '../..');
  const ours = ['package.json', 'package-lock.json', 'extensions', 'pipeline', 'reports', 'scenarios'];
  const reports = ['runs', 'comparisons'].map((name) => join(root, 'reports', name));
  for (const name of ours) {
    const filter = (path: string) => basename(path) !== 'node_modules' && !reports.includes(path);
    await cp(join(root, name), join(checkout, name), { recursive: true, filter });
  }
  await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'));
  const k6 = join(root, 'k6');
  // A link fails across file systems.
  await link(k6, join(checkout, 'k6')).catch(() => copyFile(k6, join(checkout, 'k6')));
}
