/**
 * Whether a module is the one that Node was started with. Throws on Node before 24.2, which does not report it: the command would
 * do nothing and exit with 0.
 * @param meta the module's `import.meta`
 */
export function isEntry({ main, filename }: Pick<ImportMeta, 'main' | 'filename'>): boolean {
  if (typeof main === 'boolean') return main;
  throw new Error(
    `${filename} wants Node 24.2 or later, and this is ${process.version}: npm run scenario and all others of npm run bring it`,
  );
}

/** Makes a reader of this process's output that is gone, as `head` in `npm run reports | head`, end the output and not the command. */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}
