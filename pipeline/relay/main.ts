import closeWithGrace from 'close-with-grace';
import { openLog } from '../common/log.ts';
import { fail } from '../queue/process.ts';
import { RelayConfig, readConfig } from '../shared/config.ts';
import { trust } from '../shared/trust.ts';
import { runRelay, stopLimitMs } from './run.ts';

/** Runs a relay with the settings of the environment until SIGINT or SIGTERM. */
async function main(): Promise<void> {
  const config = readConfig(RelayConfig);
  trust(config.TLS_CA);
  const log = openLog(config.LOG_LEVEL, { name: config.PROCESS_NAME, settings: config });
  const stop = new AbortController();
  const ended = runRelay(config, log, stop.signal);
  closeWithGrace({ logger: log, delay: stopLimitMs(config) }, async ({ err }) => {
    if (err) log.error(err);
    stop.abort();
    if ((await ended) === 1) process.exit(1);
  });
  await ended;
}

main().catch(fail);
