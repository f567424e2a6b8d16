/** Starts k6, for the commands that measure a pipeline. */
import { join } from 'node:path';

export const K6 = join(import.meta.dirname, '../../k6');

/** The environment of every k6: no download of extensions, no usage report. */
export const QUIET = { K6_AUTO_EXTENSION_RESOLUTION: 'false', K6_NO_USAGE_REPORT: 'true' };

/** Lets Go collect garbage less often, in an environment: its default collector costs k6 an eighth of its CPU, and makes it late. */
export const FEW_COLLECTIONS = { GOGC: '400' };
