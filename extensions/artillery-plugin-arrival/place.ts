/** Whether the plugin runs from the repository or from an npm package. */
import { resolve } from 'node:path';

export const IN_REPOSITORY = import.meta.url.endsWith('.ts');

/** The base of relative paths: the repository, or the folder in which Artillery was started. */
export const ROOT = IN_REPOSITORY ? resolve(import.meta.dirname, '../..') : process.cwd();
