import closeWithGrace from 'close-with-grace';
import { openLog } from '../common/log.ts';
import { fail } from '../queue/process.ts';
import { IngestConfig, readConfig } from '../shared/config.ts';
import { trust } from '../shared/trust.ts';
import { runIngest, STOP_LIMIT_MS } from './run.ts';

/** Runs an ingest with the settings of the environment until SIGINT or SIGTERM; SIGHUP reads tokens and certificate again. */
async function main(): Promise<void> {
  const config = readConfig(IngestConfig);
  trust(config.TLS_CA);
  const log = openLog(config.LOG_LEVEL, { name: config.PROCESS_NAME, settings: config });
  const stop = new AbortController();
  const ended = runIngest(config, log, {
    stop: stop.signal,
    onReload: (reload) => process.on('SIGHUP', reload),
  });
  closeWithGrace({ logger: log, delay: STOP_LIMIT_MS, skip: ['SIGHUP'] }, async ({ err }) => {
    if (err) log.error(err);
    stop.abort();
    await ended;
  });
  await ended;
}

main().catch(fail);
