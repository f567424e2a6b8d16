import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, Server } from 'node:tls';
import { ConfigError, type IngestConfig } from '../common/config.ts';
import type { Logger } from '../common/log.ts';

export interface Tls {
  cert: Buffer;
  key: Buffer;
}

type TlsConfig = Pick<IngestConfig, 'INGEST_TLS_CERT' | 'INGEST_TLS_KEY'>;

/** What the ingest speaks TLS with, or undefined. Throws a {@link ConfigError} when the two do not fit. */
export function readTls(config: TlsConfig): Tls | undefined {
  const { INGEST_TLS_CERT, INGEST_TLS_KEY } = config;
  if (INGEST_TLS_CERT === undefined && INGEST_TLS_KEY === undefined) return undefined;
  const tls = {
    cert: read('INGEST_TLS_CERT', INGEST_TLS_CERT, 'INGEST_TLS_KEY'),
    key: read('INGEST_TLS_KEY', INGEST_TLS_KEY, 'INGEST_TLS_CERT'),
  };
  check('INGEST_TLS_CERT', INGEST_TLS_CERT, 'a certificate in PEM', () => new X509Certificate(tls.cert));
  check(
    'INGEST_TLS_KEY',
    INGEST_TLS_KEY,
    'the private key of INGEST_TLS_CERT in PEM, without a passphrase',
    () => createSecureContext(tls),
  );
  return tls;
}

/** Reads both files again, for the connections that come. When they do not fit, the ones of before stay. */
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
    log.error(`${(error as Error).message}; the certificate of before stays`);
  }
}

function read(name: string, path: string | undefined, other: string): Buffer {
  if (path === undefined) throw new ConfigError(`${name} is not set, and ${other} is; allowed: both or none`);
  try {
    return readFileSync(path);
  } catch (error) {
    throw new ConfigError(
      `${name} is ${JSON.stringify(path)}, which cannot be read: ${(error as Error).message}`,
    );
  }
}

function check(name: string, path: string | undefined, allowed: string, uses: () => unknown): void {
  try {
    uses();
  } catch (error) {
    throw new ConfigError(
      `${name} is ${JSON.stringify(path)}; allowed: ${allowed} (${(error as Error).message})`,
    );
  }
}
