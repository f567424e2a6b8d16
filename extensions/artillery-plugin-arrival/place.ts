/** Where the plugin is: in the repository, whose TypeScript Node runs as it is, or installed from npm. */
import { resolve } from 'node:path';

export const IN_REPOSITORY = import.meta.url.endsWith('.ts');

/** What relative paths are seen from: the repository, or the folder in which Artillery was started. */
export const ROOT = IN_REPOSITORY ? resolve(import.meta.dirname, '../..') : process.cwd();
