import { X509Certificate } from 'node:crypto';
import { createSecureContext, Server } from 'node:tls';
import type { Logger } from '../common/log.ts';
import { ConfigError, type IngestConfig, readFileOf } from '../shared/config.ts';

export interface Tls {
  cert: Buffer;
  key: Buffer;
}

type TlsConfig = Pick<IngestConfig, 'INGEST_TLS_CERT' | 'INGEST_TLS_KEY'>;

const CERT = 'a certificate in PEM';
const KEY = 'the private key of INGEST_TLS_CERT in PEM, without a passphrase';

/** What the ingest speaks TLS with, or undefined. Throws a {@link ConfigError} when the two do not fit. */
export function readTls({ INGEST_TLS_CERT: cert, INGEST_TLS_KEY: key }: TlsConfig): Tls | undefined {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) {
    const [missing, other] = cert === undefined ? ['CERT', 'KEY'] : ['KEY', 'CERT'];
    throw new ConfigError(
      `INGEST_TLS_${missing} is not set, and INGEST_TLS_${other} is; allowed: both or none`,
    );
  }
  const tls = {
    cert: readFileOf('INGEST_TLS_CERT', cert, CERT),
    key: readFileOf('INGEST_TLS_KEY', key, KEY),
  };
  check('INGEST_TLS_CERT', cert, CERT, () => new X509Certificate(tls.cert));
  check('INGEST_TLS_KEY', key, KEY, () => createSecureContext(tls));
  return tls;
}

/** Reads both files again, for new connections. When they do not fit each other, the previous ones stay in use. */
export function reloadTls(
  app: { server: object },
  config: TlsConfig,
  log: Pick<Logger, 'info' | 'error'>,
): void {
  try {
    const tls = readTls(config);
    if (tls !== undefined && app.server instanceof Server) app.server.setSecureContext(tls);
    log.info('certificate read again');
  } catch (error) {
    log.error(`${(error as Error).message}; the previous certificate stays in use`);
  }
}

function check(name: string, path: string, allowed: string, uses: () => unknown): void {
  try {
    uses();
  } catch (error) {
    throw new ConfigError(
      `${name} is ${JSON.stringify(path)}; allowed: ${allowed} (${(error as Error).message})`,
    );
  }
}
