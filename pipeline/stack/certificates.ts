import { randomBytes } from 'node:crypto';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import type { StackConfig } from '../shared/config.ts';
import { trust } from '../shared/trust.ts';
import { writePrivateFile } from './file.ts';
import { DAEMON_PATH } from './launch.ts';

/** A server's certificate and its key: files in PEM. */
export interface Certificate {
  cert: string;
  key: string;
}

export const TLS_DIR = 'tls';
const OUR_SERVERS = ['redis', 'mosquitto', 'ingest'] as const;

/** The certificates of a stack's servers, and the authorities that its clients trust. */
interface Secured {
  /** A file of all authorities that vouch for the servers; empty: nothing but the built-in ones. */
  caFile: string;
  /** The content of `caFile`, PEM. */
  ca: string;
  /** The certificate of each server that speaks TLS. */
  certificates: Partial<Record<(typeof OUR_SERVERS)[number], Certificate>>;
}

/** Makes certificates for the servers of a stack, if they are to speak TLS. */
export async function secured({ TLS, TLS_CA }: StackConfig, dir: string): Promise<Secured> {
  const own = trust(TLS_CA);
  if (!TLS) return { caFile: TLS_CA === undefined ? '' : resolve(TLS_CA), ca: own, certificates: {} };
  const { ca: caFile, of: certificates } = await makeCertificates(join(dir, TLS_DIR), OUR_SERVERS);
  const ca = `${own}${trust(caFile)}`;
  await writePrivateFile(caFile, ca);
  return { caFile, ca, certificates };
}

const DAYS = 365;
/** RFC 5280: an authority that signs servers but no further authority; servers on this host. */
const EXTENSIONS = `[req]
prompt = no
distinguished_name = name
[name]
CN = unused
[authority]
basicConstraints = critical, CA:true, pathlen:0
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = IP:127.0.0.1, IP:::1, DNS:localhost
`;
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/**
 * Makes an authority and a certificate for each server, and deletes the authority's key, so that it signs nothing else.
 * Returns the files of the authority's certificate and of the servers'. Needs `openssl`.
 */
export async function makeCertificates<Server extends string>(
  dir: string,
  servers: readonly Server[],
): Promise<{ ca: string; of: Record<Server, Certificate> }> {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const at = (name: string) => join(dir, name);
  const config = at('openssl.cnf');
  await writePrivateFile(config, EXTENSIONS);
  const authority = { cert: at('ca.pem'), key: at('ca.key') };
  await openssl('req', '-x509', ...NEW_KEY, '-config', config, '-extensions', 'authority', '-days', DAYS, [
    ['-subj', `/CN=Arrival ${randomBytes(4).toString('hex')}`],
    ['-keyout', authority.key],
    ['-out', authority.cert],
  ]);
  const certify = async (server: Server): Promise<[Server, Certificate]> => {
    const [cert, key, request] = [at(`${server}.pem`), at(`${server}.key`), at(`${server}.csr`)];
    await openssl('req', ...NEW_KEY, '-config', config, [
      ['-subj', `/CN=${server}`],
      ['-keyout', key],
      ['-out', request],
    ]);
    await openssl('x509', '-req', '-extfile', config, '-extensions', 'server', '-days', DAYS, [
      ['-set_serial', `0x${randomBytes(16).toString('hex')}`],
      ['-in', request],
      ['-CA', authority.cert],
      ['-CAkey', authority.key],
      ['-out', cert],
    ]);
    await rm(request);
    await chmod(cert, 0o600);
    return [server, { cert, key }];
  };
  const certified = await Promise.all(servers.map(certify));
  await Promise.all([rm(authority.key), rm(config)]);
  return { ca: authority.cert, of: Object.fromEntries(certified) as Record<Server, Certificate> };
}

async function openssl(...args: (string | number | [string, string][])[]): Promise<void> {
  const { failed, code, stderr } = await execa('openssl', args.flat(2).map(String), {
    env: { PATH: DAEMON_PATH },
    reject: false,
  });
  if (code === 'ENOENT') throw new Error('openssl is not installed: TLS=true needs it to make certificates');
  if (failed) throw new Error(`openssl could not make a certificate: ${stderr.split('\n')[0]}`);
}
